"""The machine that costs are counted for: three speeds, and the time of a kernel under them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """Speeds of one core. A kernel overlaps them all, so it takes as long as the slowest of the three.

    `hbm_bytes`: bytes a second between memory and the core. `mxu_flops`: FLOP a second of the
    matrix units (a dot). `vpu_operations`: elementwise operations a second of the vector units.
    `operations_per_transcendental`: how many of these one exp, log or tanh takes.
    """

    name: str
    hbm_bytes: float
    mxu_flops: float
    vpu_operations: float
    operations_per_transcendental: float

    @property
    def balance(self) -> float:
        """FLOP per byte from memory at which dots and traffic take equally long."""
        return self.mxu_flops / self.hbm_bytes

    def memory_seconds(self, bytes_moved: float) -> float:
        """Time to move so many bytes."""
        return bytes_moved / self.hbm_bytes

    def vector_seconds(self, operations: float, transcendentals: float = 0) -> float:
        """Time of so many elementwise operations and transcendental functions."""
        return (operations + self.operations_per_transcendental * transcendentals) / self.vpu_operations

    def kernel_seconds(
        self, bytes_moved: float, dot_flops: float, operations: float, transcendentals: float
    ) -> float:
        """Time of one kernel: the longest of memory, matrix units and vector units."""
        return max(
            self.memory_seconds(bytes_moved),
            dot_flops / self.mxu_flops,
            self.vector_seconds(operations, transcendentals),
        )


# One TensorCore of a TPU7x (Ironwood). 1028.75 TFLOP/s and 3433 GiB/s are the peak figures of the
# lecture, per core; the vector units have 8·128 places with 4 ALUs each at 2.2 GHz, and exp is
# about 3 vector instructions. So the balance is 279.08 FLOP/B; 4 MiB take 1.138 µs; 2^20 exps take
# 0.349 µs.
TPU7X_CORE = Machine(
    name="TPU7x core",
    hbm_bytes=3433 * 2.0**30,
    mxu_flops=1028.75e12,
    vpu_operations=8 * 128 * 4 * 2.2e9,
    operations_per_transcendental=3,
)
