"""Rooflines: how long something takes at least, from what it computes and what it moves.

Whatever a kernel does takes at least its operations over the peak rate of the unit that does
them, and at least its bytes over the bandwidth of the memory they come from. Where the two are
equal is the balance point: with more operations to a byte the unit is the limit, with fewer the
memory is.
"""

from __future__ import annotations

from collections.abc import Sequence

from .chips import Chip


def vpu_flops(chip: Chip) -> float:
    """Peak FLOP/s of the VPU: every ALU of every place does a multiply–add (2 FLOP) each cycle."""
    # about 1 line
    raise NotImplementedError("a3.3: places, ALUs, 2, clock")


def mxu_flops(chip: Chip) -> float:
    """Peak FLOP/s of one MXU: every PE does a multiply–add (2 FLOP) each cycle."""
    # about 1 line
    raise NotImplementedError("a3.3: PEs, 2, clock")


def balance(chip: Chip, memory: str) -> float:
    """FLOP for each byte read from "hbm" or "vmem" at which matmuls are limited by both. ValueError for others."""
    # about 3 lines
    raise NotImplementedError("a3.3: peak over bandwidth")


def flop_use(flops: float, seconds: float, chip: Chip) -> float:
    """What fraction of the chip's peak FLOP/s is used by something that takes so long."""
    # about 1 line
    raise NotImplementedError("a3.3: rate over peak")


def matmul_seconds(m: int, k: int, n: int, itemsize: int, chip: Chip) -> float:
    """The least time of an m × k by k × n product: its 2·m·k·n FLOP, or its three arrays from and to HBM."""
    # about 2 lines
    raise NotImplementedError("a3.3: the longer of computing and moving")


def compute_bound_size(itemsize: int, chip: Chip) -> float:
    """The M from which an M × M by M × M product is limited by computing, not by HBM; a real number."""
    # about 1 line
    raise NotImplementedError("a3.3: 2·M³ / peak = 3·itemsize·M² / bandwidth")


def tile_fill(shape: Sequence[int], itemsize: int, chip: Chip) -> float:
    """How much of the registers' tiles an array fills: its elements over those of the array padded to tiles.

    shape: at least two axes; the last two are tiled. A tile has the chip's lanes, and 4 / itemsize
    times its sublanes: (8, 128) for 4 bytes, (16, 128) for 2.
    """
    # about 4 lines
    raise NotImplementedError("a3.3: the last two axes, each over its padded size")


def store_seconds(moved: float, chip: Chip) -> float:
    """The time to move so many bytes to or from HBM."""
    # about 1 line
    raise NotImplementedError("a3.3: bytes over bandwidth")


def recompute_seconds(elements: int, operations: int, chip: Chip) -> float:
    """The time of `operations` vector operations on each of so many elements, all ALUs busy.

    An ALU does one operation a cycle on each element; a multiply–add counts as one.
    """
    # about 1 line
    raise NotImplementedError("a3.3: operations over those of the VPU in a second")
