"""Equations that have bodies or touch memory: branches, loops, calls, Refs and copies by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from given_pallas_kernels.program import Equation, Type

from numpy_rules import cast, need
from replay_memory import Ref, Value, garbage

if TYPE_CHECKING:
    from replay import Replay


def control(
    replay: Replay, equation: Equation, operands: list[Any], values: dict[int, Value], point: Any
) -> list[Any]:
    """The results of such an equation."""
    match equation.primitive:
        case "get":
            return [_part(replay, equation, values).copy()]
        case "swap" | "addupdate":
            return _write(replay, equation, operands, values)
        case "masked_load":
            return _masked_load(replay, equation, operands, values)
        case "masked_swap":
            return _masked_swap(replay, equation, operands, values)
        case "dma_start":
            return _copy(replay, equation, values)
        case "debug_callback" | "debug_print" | "dma_wait" | "semaphore_signal" | "semaphore_wait":
            return []
        case "cond":
            return _cond(replay, equation, operands, point)
        case "scan":
            return _scan(replay, equation, operands, point)
        case "while":
            return _while(replay, equation, operands, point)
        case "run_scoped":
            inner = replay.program.bodies[equation.bodies[0]]
            refs = [new_ref(replay, inner.types[number]) for number in inner.inputs]
            return replay.body(equation.bodies[0], refs, point, captured=operands)
    need(len(equation.bodies) >= 1, f"{equation.primitive} of nothing")
    return replay.body(equation.bodies[0], operands, point)


def new_ref(replay: Replay, kind: Type) -> Ref:
    """Fresh memory, full of garbage; a semaphore has none that matters."""
    need(bool(kind.space), "scratch that is not a Ref")
    if kind.space == "semaphore" or "sem" in kind.dtype or "barrier" in kind.dtype:
        return Ref(None)
    replay.hold(kind)
    return Ref(garbage(kind))


def _part(replay: Replay, equation: Equation, values: dict[int, Value]) -> np.ndarray:
    need(len(equation.views) == 1, f"{equation.primitive} without a Ref")
    return replay.part(equation.views[0], values)


def _write(replay: Replay, equation: Equation, operands: list[Any], values: dict[int, Value]) -> list[Any]:
    place, new = _part(replay, equation, values), operands[1]
    need(isinstance(new, np.ndarray | np.generic) and new.shape == place.shape, "a write of another shape")
    replay.spend(2 * place.size)
    old = place.copy()
    place[...] = cast(old + new if equation.primitive == "addupdate" else new, place.dtype)
    return [old] if equation.primitive == "swap" else []


def _masked_load(replay: Replay, equation: Equation, operands: list[Any], values: dict[int, Value]) -> list[Any]:
    """Where the mask is false: what the load names for that, else what lies there, which no TPU promises."""
    place = _part(replay, equation, values)
    replay.spend(4 * place.size)
    mask, other = operands[1], operands[2] if len(operands) > 2 else place
    need(np.shape(other) in ((), place.shape), "a masked load of another shape")
    return [np.where(np.broadcast_to(_flags(mask), place.shape), place, other).astype(place.dtype)]


def _masked_swap(replay: Replay, equation: Equation, operands: list[Any], values: dict[int, Value]) -> list[Any]:
    place, new = _part(replay, equation, values), operands[1]
    need(isinstance(new, np.ndarray | np.generic) and new.shape == place.shape, "a write of another shape")
    replay.spend(6 * place.size)
    mask, old = np.broadcast_to(_flags(operands[2]), place.shape), place.copy()
    new = cast(new, place.dtype)
    place[...] = np.where(mask, new, old)
    return [np.where(mask, old, new)]


def _flags(mask: Any) -> np.ndarray:
    need(isinstance(mask, np.ndarray | np.generic) and mask.dtype == bool, "a mask that is none")
    return np.asarray(mask)


def _copy(replay: Replay, equation: Equation, values: dict[int, Value]) -> list[Any]:
    """A copy by hand is done when it is started. Whoever waits for it, as one must, cannot tell."""
    need(len(equation.views) == 3, "a copy that is not from one Ref to another, with a semaphore")
    source, target = (replay.part(view, values) for view in equation.views[:2])
    need(source.shape == target.shape and source.dtype == target.dtype, "a copy to a place of another type")
    replay.spend(2 * source.size)
    target[...] = source.copy()
    return []


def _cond(replay: Replay, equation: Equation, operands: list[Any], point: Any) -> list[Any]:
    which, *rest = operands
    need(bool(equation.bodies) and np.ndim(which) == 0, "a branch without an index")
    return replay.body(equation.bodies[min(max(int(which), 0), len(equation.bodies) - 1)], rest, point)


def _scan(replay: Replay, equation: Equation, operands: list[Any], point: Any) -> list[Any]:
    params, (number, *_) = equation.params, equation.bodies
    inner, length = replay.program.bodies[number], params["length"]
    fixed, carried = params["num_consts"], params["num_carry"]
    constants, carry, sliced = operands[:fixed], operands[fixed : fixed + carried], operands[fixed + carried :]
    need(len(inner.outputs) >= carried, "a scan that carries more than it returns")
    need(all(len(x) == length for x in sliced), "a scan over arrays of another length")
    kinds = [inner.types[n] if isinstance(n, int) else Type([], "int32") for n in inner.outputs[carried:]]
    for kind in kinds:
        replay.hold(Type([length, *kind.shape], kind.dtype))
    stacks: list[Any] = [None] * len(kinds)
    for turn in range(length - 1, -1, -1) if params.get("reverse") else range(length):
        replay.spend(2_000)
        found = replay.body(number, [*constants, *carry, *(x[turn] for x in sliced)], point)
        carry = found[:carried]
        for place, value in enumerate(found[carried:]):
            if stacks[place] is None:
                stacks[place] = np.zeros((length, *np.shape(value)), value.dtype)  # type: ignore[union-attr]
            stacks[place][turn] = value
    need(length > 0 or not stacks, "a scan over nothing")
    return [*carry, *stacks]


def _while(replay: Replay, equation: Equation, operands: list[Any], point: Any) -> list[Any]:
    turn, test = equation.bodies
    first, second = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    tested, used, carry = operands[:first], operands[first : first + second], operands[first + second :]
    while True:
        replay.spend(2_000)
        (goes_on,) = replay.body(test, [*tested, *carry], point)
        if not bool(goes_on):
            return carry
        carry = replay.body(turn, [*used, *carry], point)
