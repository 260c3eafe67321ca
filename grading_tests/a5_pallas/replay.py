"""Carries out a program that was reported, equation by equation, in NumPy.

A program and the values that it is said to have given come from the process of the student's code, where either
can be forged. What the grader has carried out itself, on inputs of its own, is what the program computes. The
program is not trusted: every array has the type that was announced for it, or the replay ends; work and memory are
paid for from a budget before they are spent, so that a hostile program ends with a sentence, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from given_pallas_kernels.program import Body, Equation, Index, Literal, Operand, Program, Type, View

from numpy_rules import DTYPES, RULES, SLOW, CannotReplay, cast, need
from replay_control import control
from replay_grid import run_grid
from replay_memory import MAX_DEPTH, Ref, Value, fitting
from replay_needs import Needs
from shape_rules import SHAPE_RULES, window

ALL_RULES = {**RULES, **SHAPE_RULES}
CONTROL = (
    "addupdate checkpoint closed_call cond core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr "
    "debug_callback debug_print dma_start dma_wait get jit masked_load masked_swap num_programs pallas_call pjit "
    "program_id remat remat2 run_scoped scan semaphore_signal semaphore_wait swap while"
).split()
INSTEAD = {
    "approx_top_k": "take maxima one after the other, with jnp.max and jnp.where, or jnp.sort",
    "bitcast": "between types of equal width, use lax.bitcast_convert_type",
    "conv_general_dilated": "write it as products, with jnp.dot",
    "custom_call": "a kernel cannot call what is not traced",
    "io_callback": "a kernel cannot call Python",
    "le_to": "compare all with all, by broadcasting, and count",
    "lt_to": "compare all with all, by broadcasting, and count",
    "platform_index": "build what jnp.diag does of lax.broadcasted_iota and jnp.where",
    "pure_callback": "a kernel cannot call Python",
    "reduce": "use jnp.sum, max, min or prod",
    "reduce_window_sum": "use jnp.cumsum, or add slices",
    "scatter": "write a part of a Ref, with pl.ds, or select with jnp.where",
    "scatter-add": "add to a part of a Ref, with pl.ds, or select with jnp.where",
    "semaphore_read": "wait for a copy, or count in scratch",
    "top_k": "take maxima one after the other, with jnp.max and jnp.where, or jnp.sort",
}
"""What to write instead of primitives that are not followed."""

MAX_BYTES = 1 << 28
MAX_ELEMENTS = 1 << 24
_PYTHON = {bool: "bool", int: "int32", float: "float32"}
EQUATION = 5_000  # about nanoseconds that one costs, whatever its size


@dataclass
class Ready:
    """An equation with what is known before it runs: types of its results, their bytes, and what it costs."""

    equation: Equation
    kinds: list[Type]
    bytes: int
    work: float


def _too_much(kind: Type) -> str:
    if kind.dtype.startswith("key<"):
        return "it draws random numbers, with jax.random, which the grader cannot follow"
    return f"it makes a {str(kind)[:60]}, which is more than the grader holds"


def _not_followed(primitive: str) -> str:
    if primitive.startswith(("random_", "threefry", "prng_")):
        return "it draws random numbers, which the grader cannot follow"
    instead = f": {INSTEAD[primitive]}" if primitive in INSTEAD else ""
    return f"it uses the primitive {primitive[:40]!r}, which the grader does not follow{instead}"


class Replay:
    """One program being carried out; `work` is what it may cost, in about nanoseconds.

    With `sample`, kernels whose results no other kernel needs write only a few blocks of their output, drawn from
    it; the rest stays garbage, and `covered` says of how many elements, by the size of the whole, that is not so.
    """

    def __init__(self, program: Program, work: float, sample: np.random.Generator | None = None) -> None:
        self.program, self.sample, self.covered = program, sample, dict[int, int]()
        self._work, self._held, self._depth = work, 0, 0
        self._ready: dict[int, list[Ready]] = {}
        self.needed: set[int] = set()

    def run(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of the program for these arguments. Raises `CannotReplay`."""
        body = self.program.bodies[0]
        need(len(body.inputs) == len(arguments), f"it has {len(body.inputs)} inputs, not {len(arguments)}")
        for number, argument in zip(body.inputs, arguments, strict=True):
            kind = body.types[number]
            need(
                list(argument.shape) == kind.shape and not kind.space, f"it takes a {kind}, which is not the input"
            )
            self.hold(kind)
        given = [cast(a, DTYPES[body.types[n].dtype]) for n, a in zip(body.inputs, arguments, strict=True)]
        try:
            with np.errstate(all="ignore"):
                if self.sample is not None:
                    Needs(self).body(0, [set() for _ in given])
                results = self.body(0, given, None)
        except CannotReplay:
            raise
        except RecursionError:
            raise CannotReplay("its bodies are nested too deeply") from None
        except MemoryError:
            raise CannotReplay("it needs too much memory") from None
        except (ArithmeticError, AttributeError, IndexError, LookupError, TypeError, ValueError) as error:
            raise CannotReplay(f"one of its equations makes no sense: {str(error)[:200]}") from None
        need(not any(isinstance(result, Ref) for result in results), "it returns a Ref")
        return results  # type: ignore[return-value]

    def spend(self, nanoseconds: float) -> None:
        """Pay for work before it is done."""
        self._work -= nanoseconds
        need(self._work >= 0, "it takes more work than the grader does for it")

    def hold(self, kind: Type) -> None:
        """Pay for an array's memory before it is made, until the body it is made in ends."""
        if kind.dtype not in DTYPES or kind.size > MAX_ELEMENTS:
            raise CannotReplay(_too_much(kind))
        self._pay(kind.size * DTYPES[kind.dtype].itemsize, kind.size)

    def _pay(self, amount: int, work: float) -> None:
        self._held += amount
        need(self._held <= MAX_BYTES, "it holds more memory at a time than the grader has for it")
        self.spend(work)

    def ready(self, number: int) -> list[Ready]:
        """The equations of a body, looked at once."""
        if number not in self._ready:
            body = self.program.bodies[number]
            self.spend(EQUATION * len(body.equations))
            self._ready[number] = [self._look_at(body, equation) for equation in body.equations]
        return self._ready[number]

    def _look_at(self, body: Body, equation: Equation) -> Ready:
        kinds = [body.types[n] for n in equation.results]
        for kind in kinds:
            if kind.dtype not in DTYPES or kind.size > MAX_ELEMENTS or kind.space:
                raise CannotReplay(_too_much(kind))
        sizes = [body.types[o].size if isinstance(o, int) else 1 for o in equation.operands]
        work = EQUATION + sum(kind.size for kind in kinds)
        if equation.primitive in ALL_RULES:
            work += SLOW.get(equation.primitive, 2) * (sum(sizes) + sum(kind.size for kind in kinds))
        if equation.primitive == "dot_general" and len(sizes) == 2 and kinds:
            products = (sizes[0] * sizes[1] * kinds[0].size) ** 0.5  # m·n·k of [m, k], [k, n] and [m, n]
            work += products * (0.12 if "float" in kinds[0].dtype else 3)
        return Ready(equation, kinds, sum(kind.size * DTYPES[kind.dtype].itemsize for kind in kinds), work)

    def body(
        self, number: int, arguments: Sequence[Value], point: Any, captured: Sequence[Value] = ()
    ) -> list[Value]:
        """The outputs of a body. `point` is the place in the grid, with its grid; `None` outside of kernels."""
        body = self.program.bodies[number]
        need(
            len(body.inputs) == len(arguments), "a body that is called with another number of operands than it has"
        )
        closed_over = list(captured) or body.captured
        need(len(closed_over) >= len(body.constants), "a body that captures what is not there")
        for place, value in zip(body.constants, closed_over, strict=False):
            need(
                value is not None,
                f"it captures a {str(body.types[place])[:60]}; arrays that are captured travel with the program, "
                "up to 16 MiB in all: give the kernel an operand of a narrower type (int8 for a mask), or use "
                "smaller blocks",
            )
        self._depth += 1
        self.spend(1_000 * (2 + len(arguments)))
        need(self._depth <= MAX_DEPTH, "its bodies are nested too deeply")
        before = self._held
        values: dict[int, Value] = {}
        for names, given in ((body.inputs, arguments), (body.constants, closed_over)):
            for name, value in zip(names, given, strict=False):
                values[name] = fitting(value, body.types[name])
        for ready in self.ready(number):
            self._equation(ready, values, point)
        results = [self.read(operand, values, "") for operand in body.outputs]
        self._depth -= 1
        self._held = before
        return results

    def read(self, operand: Operand, values: dict[int, Value], dtype: str) -> Value:
        """The value of an operand; `dtype` is for literals that do not say theirs."""
        if isinstance(operand, Literal):
            need(operand.value is not None, "it has a constant that is not a number")
            name = operand.dtype or dtype or _PYTHON[type(operand.value)]
            return cast(operand.value, DTYPES[name])
        need(operand in values, "it uses a variable before it has a value")
        return values[operand]

    def _equation(self, ready: Ready, values: dict[int, Value], point: Any) -> None:
        equation, kinds = ready.equation, ready.kinds
        self._pay(ready.bytes, ready.work)
        first = kinds[0].dtype if kinds else ""
        operands = [self.read(operand, values, first) for operand in equation.operands]
        match equation.primitive:
            case "program_id" | "num_programs":
                need(point is not None, "program_id outside of a kernel")
                where = point[equation.primitive == "num_programs"]
                results: list[Any] = [np.int32(where[equation.params["axis"]])]
            case "pallas_call":
                need(equation.call is not None and point is None, "a pallas_call that is none")
                results = run_grid(self, equation.call or 0, operands, kinds)
            case name if name in ALL_RULES:
                need(not any(isinstance(operand, Ref) for operand in operands), f"{name} of a Ref")
                results = ALL_RULES[name](equation.params, operands, kinds)
            case name:
                need(name in CONTROL, _not_followed(name))
                results = control(self, equation, operands, values, point)
        if len(results) != len(kinds):
            raise CannotReplay(f"{equation.primitive} with {len(kinds)} results")
        for number, result, kind in zip(equation.results, results, kinds, strict=True):
            if list(np.shape(result)) != kind.shape or isinstance(result, Ref):
                raise CannotReplay(
                    f"the result of {equation.primitive} is not of the type {kind} it is said to have"
                )
            values[number] = cast(result, DTYPES[kind.dtype])

    def part(self, view: View, values: dict[int, Value]) -> np.ndarray:
        """The memory that a view means, to be read or written in place."""
        ref = values.get(view.ref)
        need(isinstance(ref, Ref) and ref.array is not None, "it reads or writes what is not a Ref")
        need(
            view.index is not None or bool(view.path),
            "it selects a part of a Ref in a way the grader cannot follow",
        )
        array = ref.array  # type: ignore[union-attr]
        for index in view.path if view.index is None else [view.index]:
            array = self._select(array, index, values)
        return array

    def _select(self, array: Any, index: list[Index], values: dict[int, Value]) -> np.ndarray:
        if not index:
            return array
        starts = [self.read(part.start, values, "int32") for part in index]
        need(
            all(isinstance(s, np.ndarray | np.generic) and s.ndim == 0 for s in starts),
            "an index that is an array",
        )
        need(all(part.size >= 0 and 0 < part.stride < 1 << 31 for part in index), "a part of a Ref of no size")
        reach = [(part.size - 1) * part.stride + 1 if part.size else 1 for part in index]
        places: list[Any] = list(window(array.shape, starts, reach))
        for axis, part in enumerate(index):
            places[axis] = (
                slice(places[axis].start, places[axis].stop, part.stride) if part.size else places[axis].start
            )
        return array[(*places, ...)]
