"""Measures what a traced function would do on a TPU: what each kernel fetches, holds and computes.

    print(inspect_kernel.inspect(matmul, a, b))

`inspect` traces with JAX; `report` needs only the plain `Program`, which is how the grader measures a program
that was traced elsewhere. Nothing is run. A block is fetched when its index differs from the step before, so
traffic follows from walking the index maps over the grid; sentences say which axis made a block change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .chips import STEP_SECONDS, Chip
from .program import Block, Body, Call, Program, Type, bytes_of
from .scalars import flops_of
from .walk import Budget, Walk, Work

_FREE = set("reshape squeeze broadcast_in_dim bitcast_convert_type copy stop_gradient iota jit pjit".split())


def inspect(function: Any, *arguments: Any) -> Report:
    """Trace `jax.jit(function)` on arrays or `jax.ShapeDtypeStruct`s and measure it."""
    import jax

    from . import read_jaxpr

    traced = jax.jit(function).trace(*arguments)
    return report(read_jaxpr.read(traced.jaxpr, jax.tree.leaves(arguments)))


def report(program: Program) -> Report:
    """Measure a program. Raises `walk.TooLong` for one that is too long to follow."""
    return Report(program)


def mib(count: float) -> str:
    """Bytes in words: `512 B`, `1.5 KiB`, `12.0 MiB`."""
    if count < 1 << 10:
        return f"{count:.0f} B"
    return f"{count / (1 << 10):.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def tiled_bytes(shape: list[int], dtype: str) -> int:
    """Bytes that an array takes in VMEM, where the last two dimensions come in tiles of 8 × 128 words."""
    if not shape:
        return 4
    rows = 8 * max(4 // max(bytes_of(1, dtype), 1), 1)
    padded = [*shape[:-1], -(-shape[-1] // 128) * 128]
    if len(padded) > 1:
        padded[-2] = -(-padded[-2] // rows) * rows
    return bytes_of(int(np.prod(padded, dtype=object)), dtype)


@dataclass(frozen=True)
class Traffic:
    """What passes between HBM and VMEM for one operand.

    `indices` is the block index at each step, int64[steps, rank], or `None` where it is not known; `moves` counts
    blocks and `bytes` their bytes; `outside` names a step whose block lies outside the array.
    """

    block: Block
    grid: tuple[int, ...]
    output: bool
    indices: np.ndarray | None
    moves: int
    bytes: int
    outside: tuple[int, ...] | None

    @property
    def axes(self) -> list[int]:
        """Grid axes that the block's index follows."""
        if self.indices is None or not self.grid:
            return []
        table = self.indices.reshape(*self.grid, -1)
        return [axis for axis in range(len(self.grid)) if (np.diff(table, axis=axis) != 0).any()]

    @property
    def distinct(self) -> int:
        """How many different blocks are used."""
        return 0 if self.indices is None else len(np.unique(self.indices, axis=0))

    @property
    def returns(self) -> bool:
        """Whether some block comes back after another had its place."""
        return self.indices is not None and self.moves > self.distinct

    def __str__(self) -> str:
        block, kind = self.block, self.block.array
        what = "written" if self.output else "fetched"
        if block.space == "any":
            return f"{block.name}: {kind} stays in HBM"
        if self.indices is None:
            return f"{block.name}: {kind}, and which blocks are {what} cannot be seen from the index map"
        shape = "×".join(str(n) for n in block.shape if n)
        head = f"{block.name}: {kind} in blocks of {shape}, {self.moves:,} {what}, {mib(self.bytes)}"
        if not self.returns:
            return head
        return f"{head}; the array has {mib(kind.bytes)}: {self.why()}"

    def why(self) -> str:
        """Why the block comes back, in words."""
        axes = self.axes
        idle = [axis for axis in range(len(self.grid)) if self.grid[axis] > 1 and axis not in axes]
        outer = [axis for axis in idle if axes and axis < axes[-1]]
        steps = int(np.prod(self.grid))
        often = "on every step" if self.moves == steps else f"{self.moves:,} times in {steps:,} steps"
        text = f"its block changes {often} because its index map follows {_axes(axes)} of grid {self.grid}"
        if outer:
            turns = int(np.prod([self.grid[axis] for axis in outer]))
            text += f", so each of the {turns} turns of {_axes(outer)} moves the same blocks again"
        return text


def _axes(axes: list[int]) -> str:
    """`axis 2`, `axes 0 and 2`."""
    return ("axis " if len(axes) == 1 else "axes ") + " and ".join(map(str, axes))


class Kernel:
    """One `pallas_call`, measured."""

    def __init__(self, program: Program, call: Call, times: int, budget: Budget) -> None:
        self.call, self.times = call, times
        self._walk = Walk(program, call, budget)

    @cached_property
    def traffic(self) -> list[Traffic]:
        """Inputs, then outputs."""
        return [
            self._traffic(block, block in self.call.outputs) for block in (*self.call.inputs, *self.call.outputs)
        ]

    def _traffic(self, block: Block, output: bool) -> Traffic:
        grid = tuple(self.call.grid)
        if block.space == "any":
            return Traffic(block, grid, output, None, 0, 0, None)
        indices = self._walk.block_indices(block.index_map)
        if indices is None or indices.shape[1] != len(block.shape):
            return Traffic(block, grid, output, None, self.call.steps, block.bytes * self.call.steps, None)
        changed = np.ones(len(indices), bool)
        changed[1:] = (np.diff(indices, axis=0) != 0).any(axis=1)
        sizes = np.array([max(n, 1) for n in block.shape], np.int64)
        starts = indices * (1 if block.element else sizes)
        lengths = np.minimum(sizes, np.array(block.array.shape, np.int64) - starts)
        wrong = ((lengths <= 0) | (starts < 0)).any(axis=1)
        elements = int(np.prod(np.clip(lengths[changed], 0, None), axis=1).sum()) if len(indices) else 0
        amount = bytes_of(elements, block.array.dtype)
        outside = None
        if wrong.any():
            outside = tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), grid)) if grid else ()
        return Traffic(block, grid, output, indices, int(changed.sum()), amount, outside)

    @cached_property
    def work(self) -> Work:
        """What the steps compute and copy by hand."""
        return self._walk.kernel()

    @property
    def loaded(self) -> int:
        """Bytes from HBM: blocks, prefetched scalars and manual copies, in one run."""
        scalars = sum(array.nbytes for array in self.call.scalars if array is not None)
        blocks = sum(t.bytes for t in self.traffic if not t.output)
        return blocks + scalars + int(self.work.loaded.sum())

    @property
    def stored(self) -> int:
        """Bytes to HBM in one run."""
        return sum(t.bytes for t in self.traffic if t.output) + int(self.work.stored.sum())

    @property
    def flops(self) -> int:
        """Floating-point operations of one run, transcendentals counted as one each."""
        return int(self.work.flops.sum() + self.work.transcendentals.sum())

    @property
    def vmem(self) -> int:
        """Bytes of VMEM: blocks times their buffers, and scratch."""
        blocks = (block for block in (*self.call.inputs, *self.call.outputs) if block.space == "vmem")
        held = sum(
            tiled_bytes([n for n in block.shape if n], block.array.dtype) * block.buffers for block in blocks
        )
        held += sum(tiled_bytes(kind.shape, kind.dtype) for kind in self.call.scratch if kind.space == "vmem")
        return held + self.work.scratch

    def seconds(self, chip: Chip) -> float:
        """Modelled time of all runs: the longer of computing and copying, and a cost for each step."""
        busy = max(self.flops / chip.bf16_flops, (self.loaded + self.stored) / chip.bandwidth)
        return self.times * (busy + self.call.steps * STEP_SECONDS)

    def __str__(self) -> str:
        call = self.call
        head = "kernel" if call.name == "kernel" else f"kernel {call.name}"
        lines = [f"{head}: grid {tuple(call.grid)}, {call.steps:,} steps"]
        lines += [f"  {traffic}" for traffic in self.traffic]
        lines.append(
            f"  {mib(self.loaded)} from HBM, {mib(self.stored)} to HBM, {self.flops:,} FLOPs, "
            f"{mib(self.vmem)} of VMEM; the largest value is {self.work.largest}"
        )
        return "\n".join([*lines, *(f"  not followed: {text}" for text in dict.fromkeys(self.work.unknown))])


class Report:
    """All kernels of a program, and what is done outside of them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernels: list[Kernel] = []
        self.flops_outside = 0.0
        self.bytes_outside = 0.0
        self.largest_outside = Type([], "bool")
        self.primitives_outside: set[str] = set()
        self._budget = Budget()
        if program.bodies:
            self._outside(program.bodies[0], 1)

    def _outside(self, body: Body, times: int) -> None:
        for equation in body.equations:
            self._budget.spend(5000)
            if equation.call is not None:
                call = self.program.calls[equation.call]
                self.kernels.append(Kernel(self.program, call, times, self._budget))
                continue
            repeat = int(equation.params.get("length", 1)) if equation.primitive == "scan" else 1
            for number in equation.bodies:
                self._outside(self.program.bodies[number], times * repeat)
            results = [body.types[n] for n in equation.results]
            self.primitives_outside.add(equation.primitive)
            if equation.bodies:
                continue
            operands = [body.types[o] for o in equation.operands if isinstance(o, int)]
            self.flops_outside += times * flops_of(equation, operands, results)
            if equation.primitive not in _FREE:
                self.bytes_outside += times * sum(kind.bytes for kind in (*operands, *results))
            for kind in results:
                self.largest_outside = max(self.largest_outside, kind, key=lambda kind: kind.size)

    @property
    def flops(self) -> int:
        """Floating-point operations inside of kernels."""
        return sum(kernel.times * kernel.flops for kernel in self.kernels)

    @property
    def hbm_bytes(self) -> int:
        """Bytes between HBM and VMEM, both ways, of all kernels."""
        return sum(kernel.times * (kernel.loaded + kernel.stored) for kernel in self.kernels)

    @property
    def fraction_outside(self) -> float:
        """The part of all floating-point operations that is done outside of kernels."""
        total = self.flops + self.flops_outside
        return self.flops_outside / total if total else 0.0

    def problems(self) -> Iterator[str]:
        """Sentences about what a TPU would get wrong, as far as index maps show it."""
        for kernel in self.kernels:
            for traffic in kernel.traffic:
                if traffic.outside is not None:
                    yield (
                        f"{traffic.block.name}: at grid point {traffic.outside} its block lies outside of "
                        f"{traffic.block.array}: an index map gives block indices, not elements"
                    )
                if traffic.output and traffic.returns:
                    yield (
                        f"{traffic.block.name}: an output block comes back after another had its place, and what "
                        f"was in it is lost: {traffic.why()}"
                    )

    def seconds(self, chip: Chip) -> float:
        """Modelled time on a chip: the kernels' and, at full bandwidth, that of what is outside."""
        return sum(kernel.seconds(chip) for kernel in self.kernels) + self.bytes_outside / chip.bandwidth

    def __str__(self) -> str:
        lines = [str(kernel) for kernel in self.kernels]
        lines.append(f"outside of kernels: {self.flops_outside:,.0f} FLOPs ({self.fraction_outside:.1%})")
        return "\n".join([*lines, *self.problems()])
