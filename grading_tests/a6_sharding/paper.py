"""The paper exercises of a6_sharding. Numbers are drawn from the class seed."""

from __future__ import annotations

import random
from typing import Any

from autograder.paper import Exercise

BANDWIDTH = 4.5e10  # bytes a second, one way over one link
HOP = 1e-6


def drawn(seed: int) -> dict[str, Any]:
    """What the exercises of one class are about."""
    rng = random.Random(seed)
    return {
        "devices": rng.choice([2, 4, 8]),
        "size": rng.choice([2048, 4096, 8192]),
        "parameters": rng.choice([124, 355, 774]),
        "replicas": rng.choice([4, 8, 16]),
        "network": rng.choice([600, 900, 1200]),
        "mesh": rng.choice([(2, 4, 2), (4, 2, 2), (2, 2, 8)]),
        "rows": rng.choice([64, 128, 256]),
        "columns": rng.choice([1024, 2048]),
        "ring": rng.choice([4, 8, 16]),
        "block_kib": rng.choice([256, 512, 1024]),
        "swap": rng.choice([False, True]),
    }


def reduction(d: dict[str, Any]) -> list[float]:
    """MiB sent by each device in an all-reduce and in a reduce-scatter."""
    n, mib = d["devices"], d["size"] ** 2 * 4 / 2**20
    return [2 * (n - 1) / n * mib, (n - 1) / n * mib]


def gradients(d: dict[str, Any]) -> list[float]:
    """GB sent by each device, and milliseconds."""
    n = d["replicas"]
    gigabytes = 2 * (n - 1) / n * 4 * d["parameters"] / 1000
    return [gigabytes, gigabytes / d["network"] * 1000]


def blocks(d: dict[str, Any]) -> list[int]:
    """Bytes on each device, and on all of them."""
    x, y, z = d["mesh"]
    each = d["rows"] * d["columns"] * 2 // (x * y)
    return [each, each * x * y * z]


def gather(d: dict[str, Any]) -> list[float]:
    """Microseconds round a ring, on a line, and of tiny blocks round the ring."""
    n, hop = d["ring"], d["block_kib"] * 1024 / BANDWIDTH
    return [n // 2 * hop * 1e6, (n - 1) * hop * 1e6, n // 2 * HOP * 1e6]


def exercises(seed: int) -> list[Exercise]:
    """The exercises of one class."""
    d = drawn(seed)
    x, y, z = d["mesh"]
    n, size = d["devices"], d["size"]
    statements = [
        "the all-reduce of a layer's gradients in data parallelism",
        "the exchange of activations after a layer in tensor parallelism",
    ]
    if d["swap"]:
        statements.reverse()
    return [
        Exercise(
            name="reduction",
            title="Cutting the contracted dimension",
            prompt=(
                f"On {n} devices, A: f32[{size},{size}] is cut by columns and B: f32[{size},{size}] by rows. "
                "How many MiB does each device send if C = A @ B must be whole on every device, and how many if C "
                "may be cut by rows?"
            ),
            form="a list of two numbers, in MiB: [whole, cut by rows]",
            answer=reduction(d),
        ),
        Exercise(
            name="gradients",
            title="The gradients of a step",
            prompt=(
                f"A model of {d['parameters']} million parameters is trained with data parallelism on "
                f"{d['replicas']} devices, gradients in float32. How many GB (10⁹ bytes) does each device send in "
                f"the all-reduce of a step? How many milliseconds does that take at least, if a device can send "
                f"{d['network']} GB/s?"
            ),
            form="a list of two numbers: [GB, milliseconds], to three digits",
            answer=[round(value, 4) for value in gradients(d)],
        ),
        Exercise(
            name="critical",
            title="What can be hidden",
            prompt=(
                "Two communications take place in a training step:\n\n"
                f"- `a`: {statements[0]}\n- `b`: {statements[1]}\n\n"
                "Which of them can overlap with other computation of the same step, and which of them must be "
                "over before the next layer can start?"
            ),
            form='a list of two letters: [can overlap, must be over first], such as ["a", "a"]',
            answer=["b", "a"] if d["swap"] else ["a", "b"],
        ),
        Exercise(
            name="blocks",
            title="Bytes of a sharded array",
            prompt=(
                f"bf16[{d['rows']},{d['columns']}] is cut as A[I_XY, J] on a mesh X={x}, Y={y}, Z={z}. How many "
                "bytes does each device hold, and how many do all devices hold together?"
            ),
            form="a list of two integers: [each, together]",
            answer=blocks(d),
        ),
        Exercise(
            name="gather",
            title="How long does a gather take?",
            prompt=(
                f"Each of {d['ring']} devices along an axis has a block of {d['block_kib']} KiB, and all gather "
                "all blocks. A link moves 45 GB/s each way, and every hop takes at least 1 µs. Blocks travel both "
                "ways. How many microseconds does it take in whole blocks if the axis wraps around, how many if "
                "it does not, and how many if it wraps around and the blocks have 128 bytes each?"
            ),
            form="a list of three numbers, in microseconds, to three digits",
            answer=[round(value, 3) for value in gather(d)],
        ),
    ]
