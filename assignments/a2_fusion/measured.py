"""The numbers in the handout's figures, asked from the reference solution, so that they cannot disagree."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "a2_fusion"
KIB, MIB = 2**10, 2**20


def mebibytes(count: float) -> str:
    """A number of bytes in MiB, with the digits that tell."""
    return f"{count / MIB:.3f} MiB"


@contextmanager
def solution() -> Iterator[None]:
    """The solution's package can be imported inside; afterwards it is as if it had not been."""
    before = set(sys.modules)
    sys.path.insert(0, str(SOLUTION))
    try:
        yield
    finally:
        sys.path.remove(str(SOLUTION))
        for name in set(sys.modules) - before:
            if name.split(".")[0] == "minixla":
                del sys.modules[name]


class Stage(NamedTuple):
    """A program after one pass: equations, kernels and bytes in the lecture's accounting."""

    equations: int
    kernels: int
    bytes: int


class Kernel(NamedTuple):
    """One kernel: what it computes, and the bytes it reads and writes."""

    name: str
    bytes: int
    microseconds: float


@cache
def gelu() -> dict[str, Stage]:
    """The GELU layer at the start and after each pass."""
    with solution():
        from minixla import algebraic_simplifier, constant_folding, cost, cse, dce, equations, fusion, program

        module = program("gelu_layer")
        found = {}
        for name, run in {
            "start": None,
            "simplify": algebraic_simplifier.run,
            "fold": constant_folding.run,
            "cse": cse.run,
            "dce": dce.run,
            "fusion": fusion.run,
        }.items():
            module = run(module)[0] if run else module
            total = cost(module)
            found[name] = Stage(equations(module), len(total.kernels), total.bytes)
        return found


@cache
def attention() -> tuple[list[Kernel], list[Kernel]]:
    """Attention's kernels, unfused and fused."""
    with solution():
        from minixla import cost, dce, fusion, program

        module = dce.run(program("attention"))[0]
        both = []
        for each in (module, fusion.run(module)[0]):
            entry = each.entry_computation
            both.append([Kernel(entry[it.name].opcode, it.bytes, it.seconds() * 1e6) for it in cost(each).kernels])
        return both[0], both[1]


class Bargain(NamedTuple):
    """Bytes that recomputing saves, and microseconds: of moving them, of the exponentials, of the rest."""

    bytes: int
    memory: float
    exponentials: float
    rest: float


@cache
def bargain() -> Bargain:
    """What recomputing the exponentials of attention saves and costs."""
    with solution():
        from minixla import TPU7X_CORE, cost, program

        storing, again = cost(program("attention_storing_exp")), cost(program("attention_fused"))
        saved = storing.bytes - again.bytes
        return Bargain(
            saved,
            TPU7X_CORE.memory_seconds(saved) * 1e6,
            TPU7X_CORE.vector_seconds(0, again.transcendentals - storing.transcendentals) * 1e6,
            TPU7X_CORE.vector_seconds(again.flops - storing.flops) * 1e6,
        )


class Life(NamedTuple):
    """An array in memory: name, bytes, and the first and last position (or kernel) at which it is there."""

    name: str
    bytes: int
    first: int
    last: int


@cache
def waiting() -> list[tuple[list[str], list[Life]]]:
    """The schedule of broadcast_concat and its arrays, before and after recomputation under 14 KiB."""
    with solution():
        from minixla import program
        from minixla.liveness import Lives
        from minixla.rematerialization import recompute_for_memory

        module = program("broadcast_concat")
        both = []
        for each in (module, recompute_for_memory(module, 14 * KIB)[0]):
            order = [it.name for it in each.entry_computation.instructions]
            lives = Lives(each).buffers.values()
            both.append(
                (order, [Life(it.name, it.bytes, max(it.first, 0), min(it.last, len(order) - 1)) for it in lives])
            )
        return both


VMEM_BYTES = 24 * KIB


@cache
def placed() -> tuple[list[Life], dict[str, tuple[int, int]]]:
    """The arrays in VMEM of mini-attention, by kernels; and for each copy the kernels between start and done."""
    with solution():
        from minixla import memory_space, program
        from minixla.kernel_timeline import KernelTimeline
        from minixla.liveness import Lives

        module = program("mini_attention_fused")
        module, _ = memory_space.assign_memory_space(module, VMEM_BYTES, ["w1", "w2"])
        order = [it.name for it in module.entry_computation.instructions]
        kernels = [order.index(name) for name in KernelTimeline(module).kernels]

        def after(position: int) -> int:
            return sum(kernel < position for kernel in kernels)

        lives = [
            Life(it.name, it.bytes, after(it.first), after(it.last + 1) - 1)
            for it in Lives(module).buffers.values()
            if it.memory_space == 1
        ]
        starts = [name for name in order if name.startswith("copy-start")]
        dones = [name for name in order if name.startswith("copy-done")]
        return lives, {
            f"{start}{{0}}": (after(order.index(start)), after(order.index(done)))
            for start, done in zip(starts, dones, strict=True)
        }


@cache
def drawn() -> bytes:
    """The picture that `minixla.draw` makes of mini-attention as five kernels."""
    with solution():
        from minixla import program
        from minixla.draw import draw

        return draw(program("mini_attention_fused")).svg.encode()
