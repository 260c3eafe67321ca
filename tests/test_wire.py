"""What may cross, what may not, and what hostile bytes do."""

from __future__ import annotations

import io
import struct
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder import travel, wire

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def there_and_back(value: Any) -> Any:
    """What arrives of a value."""
    return wire.decode_answer(wire.encode_answer(value))


@given(plain)
@settings(deadline=None, database=None)
def test_plain_data_arrives_unchanged(value):
    assert there_and_back(value) == value


@given(
    hnp.arrays(
        st.sampled_from(["bool", "i1", "i8", "u4", "f2", "f4", "f8", "c16"]),
        hnp.array_shapes(min_dims=0, min_side=0),
    )
)
@settings(deadline=None, database=None)
def test_arrays_arrive_bit_for_bit(array):
    got = there_and_back(array)
    assert type(got) is np.ndarray
    assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_small_dtypes_travel_by_name(name):
    array = np.arange(4).astype(getattr(ml_dtypes, name))
    assert there_and_back(array).dtype == array.dtype


def test_strided_and_foreign_byte_order_arrays_arrive_plain():
    array = np.arange(12, dtype=">f4").reshape(3, 4)[:, ::-2]
    got = there_and_back(array)
    assert got.dtype == np.dtype("f4")
    assert np.array_equal(got, array)


def test_subclasses_arrive_as_plain_arrays():
    class Liar(np.ndarray):
        def __eq__(self, other):
            return True

    got = there_and_back(np.zeros(3).view(Liar))
    assert type(got) is np.ndarray


@pytest.mark.parametrize("value", [object(), np.array([object()]), lambda: 0, "\ud800", 2**70, Exception()])
def test_anything_else_is_refused_with_a_sentence(value):
    with pytest.raises(wire.WireError, match=r"\w+ \w+"):
        wire.encode_answer(value)


def test_a_value_that_contains_itself_is_refused():
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(wire.WireError, match="nested too deeply"):
        wire.encode_answer(loop)


def test_functions_travel_to_the_worker_only():
    request = wire.encode_request([_doubled, 3])
    function, number = wire.decode_request(request)
    assert function(number) == 6
    with pytest.raises(wire.WireError, match="does not travel"):
        wire.decode_answer(request)


def _doubled(x):
    return 2 * x


def _frame_of_array(name: str, shape: list[int], raw: bytes) -> bytes:
    return msgspec.msgpack.encode(msgspec.msgpack.Ext(1, msgspec.msgpack.encode([name, shape, raw])))


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\x91" * 100_000,
        b"\xa2\xff\xff",
        msgspec.msgpack.encode(msgspec.msgpack.Ext(2, b"x")),
        msgspec.msgpack.encode(msgspec.msgpack.Ext(99, b"x")),
        b"\xd6\xff\x00\x00\x00\x00",  # a timestamp
        _frame_of_array("object", [1], b"12345678"),
        _frame_of_array("float64", [2], b"12345678"),
        _frame_of_array("float64", [-1], b""),
        _frame_of_array("float64", [2**40, 0], b""),
        _frame_of_array("float64", [1] * 40, b"12345678"),
    ],
)
def test_hostile_bytes_are_refused(frame):
    with pytest.raises(wire.WireError):
        wire.decode_answer(frame)


@given(st.binary(max_size=300))
@settings(deadline=None, database=None, max_examples=400)
def test_random_bytes_never_do_anything_else(frame):
    try:
        wire.decode_answer(frame)
    except wire.WireError:
        pass


def _reader(data: bytes) -> Any:
    stream = io.BytesIO(data)
    return lambda count: stream.read(min(count, 3))


def test_frames_come_in_pieces():
    assert wire.receive_frame(_reader(struct.pack("!I", 5) + b"hello"), 10) == b"hello"


def test_half_a_frame_is_the_end_and_a_large_one_is_refused():
    with pytest.raises(EOFError):
        wire.receive_frame(_reader(struct.pack("!I", 50) + b"hello"), 100)
    with pytest.raises(wire.WireError, match="more than"):
        wire.receive_frame(_reader(struct.pack("!I", 2**31)), 100)


def test_an_answer_over_the_limit_is_refused():
    with pytest.raises(wire.WireError, match="may cross"):
        wire.encode_answer(b"x" * 2000, limit=1000)


GLOBAL = 3


def _uses_a_global(x):
    return x + GLOBAL


def _imports_inside(x):
    import math

    def inner(y: GLOBAL) -> GLOBAL:  # annotations stay behind
        return math.floor(y)

    class Local:
        field = 1
        other = field + 1

    return inner(x) + Local.other


def test_free_names_are_found_before_anything_runs():
    with pytest.raises(travel.TravelError, match="GLOBAL would not exist"):
        travel.pack(_uses_a_global)
    assert travel.unpack(travel.pack(_imports_inside))(2.5) == 4


def test_lambdas_and_closures_cannot_travel():
    with pytest.raises(travel.TravelError, match="lambda"):
        travel.pack(lambda: 0)
    with pytest.raises(travel.TravelError, match="top-level"):
        travel.pack(_closure())


def _closure() -> Any:
    captured = 1

    def inner():
        return captured

    return inner


def test_line_numbers_survive_travel():
    function = travel.unpack(travel.pack(_imports_inside))
    assert function.__code__.co_firstlineno == _imports_inside.__code__.co_firstlineno
    assert function.__code__.co_filename == _imports_inside.__code__.co_filename


def _decorates_inside():
    called = []

    def calling(function):
        called.append(function.__name__)
        return function

    @calling
    def inner():
        pass

    return called


def test_decorators_inside_of_a_travelling_function_come_along():
    assert travel.unpack(travel.pack(_decorates_inside))() == ["inner"]
