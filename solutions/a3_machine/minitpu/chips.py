"""What roofline estimates need to know of a chip. The numbers are the vendor's, as the lecture quotes them."""

from __future__ import annotations

from dataclasses import dataclass

GIBIBYTE = 1 << 30


@dataclass(frozen=True)
class Chip:
    """One TensorCore. Rates are per second: `matmul_flops` in FLOP, `hbm_bytes` and `vmem_bytes` in bytes read.

    `clock`: cycles. `mxu_size`: an MXU is mxu_size × mxu_size. The VPU has sublanes × lanes
    places with `alus` ALUs each. A vector register holds sublanes × lanes words of 4 bytes.
    """

    name: str
    matmul_flops: float
    hbm_bytes: float
    vmem_bytes: float
    clock: float
    mxu_size: int
    sublanes: int = 8
    lanes: int = 128
    alus: int = 4


IRONWOOD = Chip(
    name="Ironwood TensorCore",
    matmul_flops=1028.75e12,
    hbm_bytes=3433 * GIBIBYTE,
    vmem_bytes=27180 * GIBIBYTE,
    clock=2.2e9,
    mxu_size=256,
)
