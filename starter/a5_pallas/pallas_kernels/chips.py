"""What the chips of each TPU generation can do, per core: the figures that rooflines are drawn from.

The figures are those of `pltpu.get_tpu_info_for_chip(version, 1)` in JAX 0.12.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
STEP_SECONDS = 0.35e-6
"""What one step of a grid costs apart from its work: issuing copies, waiting for them, branching."""


@dataclass(frozen=True)
class Chip:
    """One core: bytes of VMEM, bytes a second from HBM, bfloat16 operations a second."""

    name: str
    vmem_bytes: int
    bandwidth: float
    bf16_flops: float

    @property
    def ridge(self) -> float:
        """FLOPs for each byte from which on a kernel is bound by computing, not by HBM."""
        return self.bf16_flops / self.bandwidth


CHIPS = {
    chip.name: chip
    for chip in (
        Chip("v4", 16 * MIB, 615e9, 137.5e12),
        Chip("v5e", 128 * MIB, 820e9, 197e12),
        Chip("v5p", 64 * MIB, 1230e9, 229.5e12),
        Chip("v6e", 128 * MIB, 1640e9, 920e12),
        Chip("7x", 64 * MIB, 3700e9, 1155e12),
    )
}
