"""Hard inputs for `minitpu`: random programs of LLO, machines, tile programs, kernels with copies.

Everything is drawn from the test's `rng`, in the trusted process, and travels as plain data.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from given_minitpu.isa import TEACHING, TOY, MachineSpec, Operation, Timing
from given_minitpu.llo import Program
from given_minitpu.tiles import Step, evaluate

Rng = np.random.Generator

# Mixes of arithmetic in random programs: on the toy machine many multiplications, else few.
TOY_MIX = ("vmul", "vmul", "vmul", "vadd", "vsub")
EVEN_MIX = ("vadd", "vsub", "vmax", "vmul")


# ---------------------------------------------------------------- machines


def scalar_machine(rng: Rng) -> MachineSpec:
    """A machine with the toy's operations, and random slots and latencies."""
    slots = {"alu": int(rng.integers(1, 4)), "mul": int(rng.integers(1, 3)), "mem": int(rng.integers(1, 3))}
    timings = {
        name: Timing(old.slot, int(rng.integers(1, 7 if old.slot != "alu" else 4)))
        for name, old in TOY.timings.items()
    }
    return dataclasses.replace(TOY, name="random", slots=slots, timings=timings)


def vector_machine(rng: Rng, sublanes: int = 8, lanes: int = 32) -> MachineSpec:
    """A machine with all operations, and random slots and latencies."""
    slots = {name: int(rng.integers(1, 4)) for name in TEACHING.slots}
    timings = {
        name: Timing(old.slot, int(rng.integers(1, 12)), int(rng.integers(1, 4)))
        for name, old in TEACHING.timings.items()
    }
    return dataclasses.replace(
        TEACHING, name="random", slots=slots, timings=timings, sublanes=sublanes, lanes=lanes
    )


# ---------------------------------------------------------------- programs of LLO


def random_program(
    rng: Rng,
    length: int,
    *,
    loads: float = 0.0,
    stores: float = 0.0,
    names: int = 0,
    mix: tuple[str, ...] = EVEN_MIX,
    rows: int = 16,
) -> Program:
    """`length` operations whose operands come from the last five values.

    `loads`, `stores`: their shares; addresses are below `rows`. `names`: with 0 every result has a
    register of its own, else results go to one of so many registers, over and over. Outputs are the
    registers whose last values nobody reads.
    """
    operations = [Operation("vld", f"v{number}", (), number) for number in range(4)]
    recent = [operation.dest for operation in operations]
    while len(operations) < length:
        kind = rng.random()
        pick = lambda: recent[-int(rng.integers(1, min(5, len(recent)) + 1))]
        if kind < stores:
            operations.append(Operation("vst", "", (pick(),), int(rng.integers(rows))))
            continue
        dest = f"v{int(rng.integers(names)) if names else len(operations)}"
        if kind < stores + loads:
            operations.append(Operation("vld", dest, (), int(rng.integers(rows))))
        else:
            operations.append(Operation(mix[int(rng.integers(len(mix)))], dest, (pick(), pick())))
        recent.append(dest)
    return Program(tuple(operations), _unread(operations))


def _unread(operations: list[Operation]) -> tuple[str, ...]:
    """The registers that are written last after they are read last."""
    unread: dict[str, bool] = {}
    for operation in operations:
        unread.update(dict.fromkeys(operation.sources, False))
        if operation.dest:
            unread[operation.dest] = True
    return tuple(register for register, is_unread in unread.items() if is_unread)


def memory_for(rng: Rng, machine: MachineSpec, rows: int = 1200) -> np.ndarray:
    """Normally distributed memory; where kernels have their masks, zeros and ones."""
    memory = rng.normal(size=(rows, machine.lanes)).astype(np.float32)
    memory[256:512] = memory[256:512] > -0.5
    return memory


# ---------------------------------------------------------------- tile programs

_BINARY = ("add", "sub", "mul", "max", "greater")
_REDUCTIONS = ("row_sum", "row_max", "column_sum", "column_max")


def tile_program(
    rng: Rng, machine: MachineSpec, memory: np.ndarray, length: int, names: tuple[str, ...]
) -> list[Step]:
    """Random steps on two loaded tiles, of these names, ending with a store.

    A step is taken only if its values stay within a thousand, are not all alike, and are not so small that a
    quotient would be wild. `matmul` is applied to values that do not depend on the order of a sum.
    """
    steps = [Step("load", "a"), Step("load", "b", (), 256)]
    exact = ["a", "b"]
    while len(steps) < length:
        last, out = steps[-1].out, f"t{len(steps)}"
        name = names[int(rng.integers(len(names)))]
        other = steps[int(rng.integers(len(steps)))].out
        step = Step(name, out, (last, other) if name in _BINARY else (last,))
        if name in ("scale", "shift"):
            step = step._replace(number=float(np.float32(rng.uniform(-2, 2))))
        elif name == "select":
            step = step._replace(inputs=("b", last), number=float(rng.choice([-1e3, 0.5, 3.0])))
        elif name == "matmul":
            if last not in exact:
                continue
            step = step._replace(number=768.0)
        if _is_tame(machine, memory, [*steps, step]):
            steps.append(step)
            if name not in ("exp", *_REDUCTIONS) and all(x in exact for x in step.inputs):
                exact.append(out)
    return [*steps, Step("store", "", (steps[-1].out,), 512)]


def _is_tame(machine: MachineSpec, memory: np.ndarray, steps: list[Step]) -> bool:
    """Whether the last step has values that a check can compare."""
    before = evaluate([*steps[:-1], Step("store", "", (steps[-1].inputs[0],), 512)], machine, memory)
    operand = before[512 : 512 + machine.sublanes]
    if steps[-1].name in ("reciprocal", "rsqrt") and not (operand > 0.05).all():
        return False
    if steps[-1].name == "exp" and not (np.abs(operand) < 6).all():
        return False
    after = evaluate([*steps, Step("store", "", (steps[-1].out,), 512)], machine, memory)
    result = after[512 : 512 + machine.sublanes]
    return bool(np.isfinite(result).all() and 1e-3 < np.abs(result).max() < 1e3)


def plain_steps(steps: list[Step]) -> list[list[Any]]:
    """A tile program as data."""
    return [[step.name, step.out, list(step.inputs), step.number] for step in steps]


# ---------------------------------------------------------------- arrays


def bit_patterns(rng: Rng, count: int) -> np.ndarray:
    """Random float32 of all exponents; every second is near a tie between two bfloat16."""
    bits = rng.integers(0, 1 << 32, size=count, dtype=np.uint64).astype(np.uint32)
    near = np.uint32(0x8000) + rng.integers(-1, 2, size=count).astype(np.int64)
    bits[::2] = (bits[::2] & np.uint32(0xFFFF0000)) | near[::2].astype(np.uint32)
    return bits.view(np.float32)


def bf16_normal(rng: Rng, *shape: int) -> np.ndarray:
    """Normally distributed numbers with 8 significant bits, as float32."""
    bits = rng.normal(size=shape).astype(np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def chip(rng: Rng) -> dict[str, Any]:
    """A chip that nobody sells, as data."""
    return {
        "name": "drawn",
        "matmul_flops": float(rng.uniform(1e13, 2e15)),
        "hbm_bytes": float(rng.uniform(5e11, 8e12)),
        "vmem_bytes": float(rng.uniform(1e13, 5e13)),
        "clock": float(rng.uniform(5e8, 3e9)),
        "mxu_size": int(rng.choice([64, 128, 256])),
        "sublanes": int(rng.choice([4, 8, 16])),
        "lanes": int(rng.choice([32, 64, 128])),
        "alus": int(rng.integers(1, 9)),
    }


# ---------------------------------------------------------------- kernels with copies


def mini_attention() -> tuple[list[list[Any]], list[list[Any]]]:
    """The five kernels that a compiler made of a small attention, with their bundles; the copies of two weights.

    A kernel is [name, cycles, reads, makes]; a copy is [name, size, cycles].
    """
    kernels = [
        ["multiply_reduce_fusion", 71, ["x", "w1"], [["h", 8192], ["squares", 4096]]],
        ["add_sqrt_fusion", 10, ["squares"], [["rms", 4096]]],
        ["fusion.5", 56, ["h", "rms"], [["max", 4096]]],
        ["fusion.2", 65, ["h", "rms", "max"], [["sums", 4096]]],
        ["fusion", 48, ["h", "rms", "max", "sums", "w2"], [["out", 8192]]],
    ]
    return kernels, [["w1", 32768, 64], ["w2", 32768, 32]]


def kernels_with_copies(rng: Rng) -> tuple[list[list[Any]], list[list[Any]], int]:
    """A random chain of kernels, copies that they read, and VMEM that holds them with little to spare."""
    count = int(rng.integers(3, 10))
    copies = [
        [f"w{number}", int(rng.integers(3, 9)), int(rng.integers(1, 50))] for number in range(rng.integers(1, 7))
    ]
    readers = [set(rng.choice(count, size=int(rng.integers(1, 3)), replace=False).tolist()) for _ in copies]
    kernels: list[list[Any]] = []
    for index in range(count):
        made = [name for kernel in kernels for name, _ in kernel[3] if name.startswith("y")]
        reads = [name for name in made if rng.random() < 0.2] or made[-1:] or ["x"]
        reads += [copy[0] for copy, used_by in zip(copies, readers, strict=True) if index in used_by]
        makes = [[f"y{index}", int(rng.integers(1, 4))]]
        if rng.random() < 0.4:
            makes.append([f"z{index}", int(rng.integers(3, 9))])  # which nobody reads
        kernels.append([f"k{index}", int(rng.integers(1, 60)), reads, makes])
    least = max(taken(kernels, copies, {copy[0]: first_read(kernels, copy[0]) for copy in copies}))
    return kernels, copies, least + int(rng.integers(0, 16))


def first_read(kernels: list[list[Any]], name: str) -> int:
    """The first kernel that reads a value."""
    return next(index for index, kernel in enumerate(kernels) if name in kernel[2])


def taken(kernels: list[list[Any]], copies: list[list[Any]], starts: dict[str, int]) -> list[int]:
    """Bytes of VMEM taken during each kernel, if copies start before the kernels numbered in `starts`."""

    def lives(index: int) -> int:
        total = 0
        for name, size, begin in [
            *((name, size, made) for made, kernel in enumerate(kernels) for name, size in kernel[3]),
            *((name, size, starts[name]) for name, size, _ in copies),
        ]:
            readers = [number for number, kernel in enumerate(kernels) if name in kernel[2]]
            end = readers[-1] if readers else len(kernels) - 1
            total += size if begin <= index <= end else 0
        return total

    return [lives(index) for index in range(len(kernels))]


def has_one_bottleneck(bound: Any) -> bool:
    """Whether a program's slots and its critical path are not equally hard.

    Where they are, the bound can be far below what anyone reaches.
    """
    longest, busiest = bound.critical_path, max(bound.work.values())
    return min(longest, busiest) <= 0.65 * max(longest, busiest)
