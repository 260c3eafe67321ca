"""Lowering: from what a kernel does to a tile, to the operations of the machine.

Each function emits LLO for one step and returns the register that holds its result. They think
in values, not in cycles: when each operation happens is the scheduler's business. The one thing
to respect is the queues: every result that is asked of a unit is popped, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from .isa import MachineSpec
from .llo import Emitter, Program
from .tiles import Step

LOG2_E = 1.4426950408889634

# Steps that are one operation on whole tiles.
ELEMENTWISE = {
    "add": "vadd",
    "sub": "vsub",
    "mul": "vmul",
    "max": "vmax",
    "greater": "vgt",
    "reciprocal": "vrcp",
    "rsqrt": "vrsqrt",
}


def constant(code: Emitter, value: float) -> str:
    """The scalar register that holds a constant; one `smov` for each constant of a program."""
    known = code.state.setdefault("constants", {})
    if value not in known:
        known[value] = code.emit("smov", number=float(value))
    return known[value]


def exp(code: Emitter, x: str) -> str:
    """e to the power x. The machine has powers of two only: one multiplication, one `vpow2`."""
    ### BEGIN SOLUTION a3.4: e^x is 2^(x·log2 e)
    return code.emit("vpow2", code.emit("vmul", x, constant(code, LOG2_E)))
    ### END SOLUTION


def masked_select(code: Emitter, mask: str, x: str, other: float) -> str:
    """x where mask is not 0, else the constant `other`."""
    ### BEGIN SOLUTION a3.4: one vsel
    return code.emit("vsel", mask, x, constant(code, other))
    ### END SOLUTION


def sublane_reduce(code: Emitter, opcode: str, x: str) -> str:
    """Combine the sublanes of each lane with `opcode`, "vadd" or "vmax"; the result is in every sublane.

    Takes log₂(sublanes) rotations: with 8 sublanes by 4, 2 and 1.
    """
    ### BEGIN SOLUTION a3.4: rotate by half, a quarter, …, and combine
    amount = code.machine.sublanes // 2
    while amount:
        x = code.emit(opcode, x, code.emit("vrot", x, number=amount))
        amount //= 2
    return x
    ### END SOLUTION


def lane_reduce(code: Emitter, opcode: str, x: str) -> str:
    """Combine the lanes of each sublane with `opcode`; the result is in every lane.

    Lanes cannot see one another. So transpose: that gives lanes / sublanes registers, which have in
    lane l what was in sublane l. Combine these, then their sublanes. Now lane l of every sublane
    holds the result of sublane l, and `vbcast` fills each sublane with its own.
    """
    ### BEGIN SOLUTION a3.4: transpose, pop and combine, reduce the sublanes, broadcast
    transposed = code.emit("vxpose", x, number=code.machine.blocks)
    pieces = [code.emit("vpop.trf", transposed) for _ in range(code.machine.blocks)]
    by_lane = sublane_reduce(code, opcode, reduce(lambda a, b: code.emit(opcode, a, b), pieces))
    return code.emit("vpop.trf", code.emit("vbcast", by_lane))
    ### END SOLUTION


def load_weights(code: Emitter, address: int) -> str:
    """Fill weights with the lanes × lanes matrix in rows `address`, …; returns their register, such as "m0".

    The matrix is rounded to bfloat16. One that was loaded before is not loaded again. A program
    has at most as many matrices as the machine has sets of weights.
    """
    loaded = code.state.setdefault("weights", {})
    if address not in loaded:
        loaded[address] = f"m{len(loaded)}"
        ### BEGIN SOLUTION a3.4: load, round and push every block
        for block in range(code.machine.blocks):
            rows = code.emit("vld", number=address + block * code.machine.sublanes)
            code.emit("vmatpush", loaded[address], code.emit("vpack", rows), number=block)
        ### END SOLUTION
    return loaded[address]


def matmul(code: Emitter, x: str, weights: str) -> str:
    """x @ weights, where `weights` is what `load_weights` returned; x is rounded to bfloat16."""
    ### BEGIN SOLUTION a3.4: round, multiply, pop
    return code.emit("vpop.mrf", code.emit("vmatmul", weights, code.emit("vpack", x)))
    ### END SOLUTION


def lower(steps: Sequence[Step], machine: MachineSpec, tiles: int = 1) -> Program:
    """LLO for a tile program (see `tiles.py`), run for `tiles` tiles one after another.

    Calls `code.start_tile()` before the first operation of each tile.
    """
    code = Emitter(machine)
    for step in steps:
        if step.name == "matmul":
            load_weights(code, int(step.number))
    for tile in range(tiles):
        code.start_tile()
        registers: dict[str, str] = {}
        for step in steps:
            registers[step.out] = lower_step(code, step, [registers[name] for name in step.inputs], tile)
    return code.program()


def lower_step(code: Emitter, step: Step, inputs: list[str], tile: int) -> str:
    """LLO for one step on tile number `tile`; returns the register of its result, "" for `store`."""
    ### BEGIN SOLUTION a3.4: one case for each kind of step
    match step.name:
        case "load":
            return code.emit("vld", number=int(step.number) + tile * code.machine.sublanes)
        case "store":
            return code.emit("vst", *inputs, number=int(step.number) + tile * code.machine.sublanes)
        case "scale":
            return code.emit("vmul", *inputs, constant(code, step.number))
        case "shift":
            return code.emit("vadd", *inputs, constant(code, step.number))
        case "select":
            return masked_select(code, inputs[0], inputs[1], step.number)
        case "exp":
            return exp(code, *inputs)
        case "column_sum" | "column_max":
            return sublane_reduce(code, "vadd" if step.name == "column_sum" else "vmax", *inputs)
        case "row_sum" | "row_max":
            return lane_reduce(code, "vadd" if step.name == "row_sum" else "vmax", *inputs)
        case "matmul":
            return matmul(code, inputs[0], load_weights(code, int(step.number)))
        case _:
            return code.emit(ELEMENTWISE[step.name], *inputs)
    ### END SOLUTION
