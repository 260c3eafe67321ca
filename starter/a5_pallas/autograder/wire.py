"""What crosses between checks and student code: plain data, in length-prefixed msgpack frames.

Plain data is `None`, `bool`, `int`, `float`, `str`, `bytes`, lists, dicts, and NumPy arrays. Tuples arrive
as lists, NumPy scalars as arrays of rank 0. Arrays travel as dtype name, shape and bytes and are rebuilt as
exact `np.ndarray`s, so no object of the student's making ever reaches a check.
Functions travel one way only, towards the worker: decoding one runs its source.

Nothing here is pickled, in either direction. The same encode–decode pair is used when student code runs
in the same process (`make test` on a laptop), so what cannot cross in the sandbox does not cross there.
"""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Callable
from types import FunctionType
from typing import Any

import ml_dtypes
import msgspec
import numpy as np

from autograder import travel

MEBIBYTE = 1 << 20
MAX_REQUEST = 64 * MEBIBYTE
MAX_ANSWER = 2 * MEBIBYTE
MAX_DEPTH = 40
MAX_NODES = 1_000_000
MAX_RANK = 32

_PLAIN = frozenset({type(None), bool, int, float, str, bytes, list, dict, np.ndarray})
_ARRAY, _FUNCTION = 1, 2
_HEADER = struct.Struct("!I")
_NUMPY_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
).split()
_SMALL_DTYPES = "bfloat16 float8_e4m3fn float8_e5m2 int4 uint4".split()
_DTYPES = {name: np.dtype(name) for name in _NUMPY_DTYPES}
_DTYPES |= {name: np.dtype(getattr(ml_dtypes, name)) for name in _SMALL_DTYPES}
_array_encoder = msgspec.msgpack.Encoder()
_array_decoder = msgspec.msgpack.Decoder(tuple[str, list[int], bytes])
_function_decoder = msgspec.msgpack.Decoder(travel.Packed)


class WireError(ValueError):
    """A value that cannot cross, or bytes that are not a well-formed frame."""


def _encode_array(array: np.ndarray) -> msgspec.msgpack.Ext:
    plain = np.asarray(array).view(np.ndarray)
    name = plain.dtype.name
    if name not in _DTYPES:
        raise WireError(f"an array of dtype {plain.dtype} is not plain data; allowed: {', '.join(_DTYPES)}")
    native = plain.astype(_DTYPES[name], copy=False)
    return msgspec.msgpack.Ext(_ARRAY, _array_encoder.encode((name, native.shape, native.tobytes())))


def _encode_other(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return _encode_array(value)  # type: ignore[arg-type]
    if isinstance(value, complex):
        return _encode_array(np.asarray(value))
    raise WireError(
        f"a value of type {type(value).__name__} is not plain data; "
        "allowed: None, bool, int, float, str, bytes, list, tuple, dict and NumPy arrays"
    )


def _encode_other_or_function(value: Any) -> Any:
    if isinstance(value, FunctionType):
        return msgspec.msgpack.Ext(_FUNCTION, msgspec.msgpack.encode(travel.pack(value)))
    return _encode_other(value)


def _decode_array(data: memoryview) -> np.ndarray:
    name, shape, raw = _array_decoder.decode(data)
    if name not in _DTYPES:
        raise WireError(f"unknown array dtype {name[:40]!r}")
    if len(shape) > MAX_RANK or any(not 0 <= n < 2**31 for n in shape):
        raise WireError(f"impossible array shape {str(shape)[:80]}")
    if math.prod(shape) * _DTYPES[name].itemsize != len(raw):
        raise WireError(f"an array of shape {shape} and dtype {name} cannot have {len(raw)} bytes")
    if name == "bool":  # any byte but 0 is true, so that only 0 and 1 are left
        return np.asarray(np.frombuffer(raw, np.uint8).reshape(shape) != 0)
    return np.frombuffer(raw, _DTYPES[name]).reshape(shape).copy()


def _decode_data(code: int, data: memoryview) -> Any:
    if code == _ARRAY:
        return _decode_array(data)
    raise WireError(f"extension type {code} does not travel in this direction")


def _decode_data_or_function(code: int, data: memoryview) -> Any:
    if code == _FUNCTION:
        return travel.unpack(_function_decoder.decode(data))
    return _decode_data(code, data)


_request_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_other_or_function)
_answer_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_other)
_request_decoder = msgspec.msgpack.Decoder(ext_hook=_decode_data_or_function)
_answer_decoder = msgspec.msgpack.Decoder(ext_hook=_decode_data)


def _guarded(act: Callable[[Any], Any], value: Any, limit: int) -> Any:
    """Run one codec step and turn each way it can fail into a `WireError` sentence."""
    try:
        result = act(value)
    except WireError:
        raise
    except RecursionError:
        raise WireError("the value is nested too deeply (or contains itself)") from None
    except UnicodeError:
        raise WireError("a string holds characters that are not valid Unicode (lone surrogates?)") from None
    except (msgspec.MsgspecError, OverflowError, ValueError, TypeError) as error:
        raise WireError(f"not plain data: {error}") from None
    if isinstance(result, bytes) and len(result) > limit:
        raise WireError(f"{len(result):,} bytes are more than the {limit:,} that may cross")
    return result


def encode_request(value: Any) -> bytes:
    """Bytes of a request; functions in it are packed as source. Raises `WireError`."""
    return _guarded(_request_encoder.encode, value, MAX_REQUEST)


def decode_request(frame: bytes) -> Any:
    """The request, its functions compiled. Only ever called where student code may run."""
    return _guarded(_request_decoder.decode, frame, MAX_REQUEST)


def encode_answer(value: Any, limit: int = MAX_ANSWER) -> bytes:
    """Bytes of an answer. Raises `WireError` for anything but plain data of at most `limit` bytes."""
    return _guarded(_answer_encoder.encode, value, limit)


def decode_answer(frame: bytes) -> Any:
    """The answer as exact builtin types and plain `np.ndarray`s. Safe on hostile bytes.

    Raises `WireError` for a value nested deeper than `MAX_DEPTH` or of more than `MAX_NODES` pieces, so that
    whoever walks over it afterwards needs no care.
    """
    return _guarded(_decode_bounded, frame, MAX_REQUEST)


def _decode_bounded(frame: bytes) -> Any:
    value = _answer_decoder.decode(frame)
    level, nodes, depth = [value], 0, 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if not _PLAIN.issuperset(map(type, level)):
            raise WireError("it holds something that is not plain data")
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise WireError(f"it is nested deeper than {MAX_DEPTH} levels or has more than {MAX_NODES:,} pieces")
        level = [
            item
            for container in level
            if isinstance(container, list | dict)
            for item in (container if isinstance(container, list) else container.values())
        ]
    return value


def send_frame(sock: socket.socket, payload: bytes) -> None:
    """Write one frame: four bytes of big-endian length, then the payload."""
    sock.sendall(_HEADER.pack(len(payload)) + payload)


def receive_frame(receive: Callable[[int], bytes], limit: int) -> bytes:
    """Read one frame through `receive(n)`, which returns 1 to n bytes, or none at the end of the stream.

    Raises `EOFError` at the end of the stream and `WireError` when the announced length exceeds `limit`.
    """

    def exactly(count: int) -> bytes:
        buffer = bytearray()
        while len(buffer) < count:
            chunk = receive(min(count - len(buffer), MEBIBYTE))
            if not chunk:
                raise EOFError
            buffer += chunk
        return bytes(buffer)

    (length,) = _HEADER.unpack(exactly(_HEADER.size))
    if length > limit:
        raise WireError(f"an answer of {length:,} bytes is more than the {limit:,} that may cross")
    return exactly(length)
