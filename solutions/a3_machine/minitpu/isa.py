"""The instruction set: what an operation is, and what a machine is.

An operation is one line of LLO, such as `v7 = vadd v5, v6`. It names registers, never values.
A machine is data: how many operations of each kind fit into one bundle, and how many cycles
each of them takes. So one program runs on every machine that has its operations, and only
its schedule differs. What each operation does is told in `machine.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .errors import LLOError

# ---------------------------------------------------------------- operations


class Form(NamedTuple):
    """How an operation is written: `result = opcode sources, number`.

    Registers are of four kinds: "v" vectors, "s" scalars, "m" weights of an MXU, "q" queues of
    results. `result`: the kind of its result, "" for none. `sources`: the kinds that each source
    may be. `number`: what its number means, "" for none.
    """

    result: str
    sources: tuple[str, ...]
    number: str = ""


FORMS: dict[str, Form] = {
    "smov": Form("s", (), "value"),
    "vld": Form("v", (), "address"),
    "vst": Form("", ("v",), "address"),
    **dict.fromkeys(("vadd", "vsub", "vmul", "vmax", "vgt"), Form("v", ("vs", "vs"))),
    "vsel": Form("v", ("vs", "vs", "vs")),
    "vrot": Form("v", ("v",), "amount"),
    **dict.fromkeys(("vpack", "vpow2", "vrcp", "vrsqrt"), Form("v", ("v",))),
    "vmatpush": Form("", ("m", "v"), "block"),
    "vmatmul": Form("q", ("m", "v")),
    "vxpose": Form("q", ("v",), "results"),
    "vbcast": Form("q", ("v",)),
    **dict.fromkeys(("vpop.mrf", "vpop.trf"), Form("v", ("q",))),
}

Place = str | int  # a register "v7", "s0", "m2", or the number of a row of memory


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `dest`: the register of its result, or "". `sources`: registers.

    `number`: the constant of `smov`, the address of `vld` and `vst`, and so on (see `FORMS`).
    """

    opcode: str
    dest: str = ""
    sources: tuple[str, ...] = ()
    number: int | float | None = None

    def __str__(self) -> str:
        head = f"{self.dest} = {self.opcode}" if self.dest else self.opcode
        number = f"[{self.number}]" if self.opcode in ("vld", "vst") else repr(self.number)
        operands = [*self.sources, *([] if self.number is None else [number])]
        return f"{head} {', '.join(operands)}"

    @property
    def index(self) -> int:
        """Its number as an int: an address, an amount, a block, or a count of results."""
        return int(self.number or 0)

    @property
    def results(self) -> int:
        """How many results it puts into a queue."""
        return {"vmatmul": 1, "vbcast": 1, "vxpose": self.index}.get(self.opcode, 0)


_LINE = re.compile(r"(?:([vsq]\d{1,6}) *= *)?([a-z]+2?(?:\.[a-z]+)?)(?: +(.*))?")


def parse(text: str) -> Operation:
    """The operation that a line of LLO says. Raises LLOError for anything else."""
    line = _LINE.fullmatch(text.strip())
    if line is None or line[2] not in FORMS:
        raise LLOError(text, f"it has none of the opcodes {', '.join(FORMS)}")
    dest, opcode = line[1] or "", line[2]
    form = FORMS[opcode]
    operands = [word.strip() for word in line[3].split(",")] if line[3] else []
    number: int | float | None = None
    if form.number:
        number = _number(operands.pop() if operands else "", form.number, text)
    if dest[:1] != form.result:
        wanted = f"a register {form.result}…" if form.result else "nothing"
        raise LLOError(text, f"the result of {opcode} is {wanted}")
    if not re.fullmatch(",".join(f"[{kind}]\\d{{1,6}}" for kind in form.sources), ",".join(operands)):
        kinds = ", ".join("… or ".join(kind) + "…" for kind in form.sources) or "none"
        raise LLOError(text, f"the registers that {opcode} reads are {kinds}")
    return Operation(opcode, dest, tuple(operands), number)


def _number(word: str, meaning: str, text: str) -> int | float:
    """The number at the end of a line; only that of `smov` may have a fraction."""
    try:
        if meaning == "value":
            return float(word)
        digits = re.fullmatch(r"\[ *(\d{1,9}) *\]" if meaning == "address" else r"(\d{1,9})", word)
        return int(digits[1] if digits else "")
    except ValueError:
        raise LLOError(text, f"its last operand must be its {meaning}") from None


# ---------------------------------------------------------------- machines


class Timing(NamedTuple):
    """How an operation is timed.

    `slot`: the kind of slot it takes. `latency`: cycles until its result can be read, or its
    first result be popped. `every`: cycles between two results of `vxpose`, two pops of one
    queue, or two pushes to one set of weights.
    """

    slot: str
    latency: int
    every: int = 1


@dataclass(frozen=True)
class MachineSpec:
    """A machine, as data. `slots`: operations of each kind that fit into a bundle.

    `timings`: by opcode; what is not in it, the machine does not have. A vector register holds
    `sublanes` × `lanes` float32 words, memory `rows` × `lanes`. Rows from `spill_from` on are
    nobody's: a compiler may spill registers to them. `registers`: of kind v; `weights`: of kind m.
    """

    name: str
    slots: Mapping[str, int]
    timings: Mapping[str, Timing]
    registers: int = 64
    weights: int = 4
    sublanes: int = 8
    lanes: int = 128
    rows: int = 4096
    spill_from: int = 3072

    @property
    def blocks(self) -> int:
        """How many vector registers the lanes × lanes weights of an MXU fill."""
        return self.lanes // self.sublanes

    def slot(self, operation: Operation) -> str:
        """The kind of slot that an operation takes."""
        return self.timings[operation.opcode].slot

    def latency(self, operation: Operation) -> int:
        """Cycles from issue until the result can be read."""
        return self.timings[operation.opcode].latency

    def every(self, operation: Operation) -> int:
        """Cycles from issue until the next operation of the kind on the same queue or weights."""
        return self.timings[operation.opcode].every

    def arrival(self, operation: Operation, number: int) -> int:
        """Cycles from issue until result `number` (0 is the first) can be popped from its queue."""
        return self.latency(operation) + number * self.every(operation)

    def completion(self, operation: Operation) -> int:
        """Cycles from issue until nothing of the operation is under way."""
        return self.arrival(operation, max(1, operation.results) - 1)

    def to_data(self) -> dict[str, Any]:
        """The machine as plain data, for JSON."""
        return asdict(self) | {"timings": {name: list(timing) for name, timing in self.timings.items()}}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> MachineSpec:
        """The machine that `to_data` wrote down."""
        timings = {name: Timing(*timing) for name, timing in data["timings"].items()}
        return cls(**{**data, "timings": timings})


def reads(operation: Operation, machine: MachineSpec) -> list[Place]:
    """The places (registers but queues, rows of memory) that an operation reads, when it is issued."""
    kinds = "vsm" if operation.opcode == "vmatmul" else "vs"
    places: list[Place] = [name for name in dict.fromkeys(operation.sources) if name[0] in kinds]
    if operation.opcode == "vld":
        places += range(operation.index, operation.index + machine.sublanes)
    return places


def writes(operation: Operation, machine: MachineSpec) -> list[Place]:
    """The places (registers but queues, rows of memory) that it changes, `machine.latency` cycles later."""
    match operation.opcode:
        case "vst":
            return list(range(operation.index, operation.index + machine.sublanes))
        case "vmatpush":
            return [operation.sources[0]]
        case _:
            return [operation.dest] if operation.dest[:1] in ("v", "s") else []


# ---------------------------------------------------------------- three machines

_ALU = ("vadd", "vsub", "vmax", "vgt")

# One number in a register; two adders, one multiplier, one access to memory a cycle: for pencil and paper.
TOY = MachineSpec(
    name="toy",
    slots={"alu": 2, "mul": 1, "mem": 1},
    timings={
        **dict.fromkeys(("smov", *_ALU, "vsel"), Timing("alu", 1)),
        "vmul": Timing("mul", 3),
        "vld": Timing("mem", 2),
        "vst": Timing("mem", 1),
    },
    weights=0,
    sublanes=1,
    lanes=1,
)

# All units, but small and quick, so that the trace of a program fits on a page.
TEACHING = MachineSpec(
    name="teaching",
    slots={"scalar": 1, "valu": 1, "eup": 1, "vld": 1, "vst": 1, "mxu": 1, "xlu": 2},
    timings={
        "smov": Timing("scalar", 1),
        **dict.fromkeys((*_ALU, "vsel", "vrot", "vpack"), Timing("valu", 1)),
        "vmul": Timing("valu", 2),
        **dict.fromkeys(("vpow2", "vrcp", "vrsqrt"), Timing("eup", 3)),
        "vld": Timing("vld", 2),
        "vst": Timing("vst", 2),
        "vmatpush": Timing("mxu", 2),
        "vmatmul": Timing("mxu", 8),
        "vxpose": Timing("xlu", 3),
        "vbcast": Timing("xlu", 2),
        "vpop.mrf": Timing("mxu", 1),
        "vpop.trf": Timing("xlu", 1),
    },
    lanes=32,
)

# Slots and dependence distances as a TPU v6e compiler prints them: numbers of its cost model, not measurements.
# Where a line says "assumed", the dump says nothing.
V6E = MachineSpec(
    name="v6e",
    slots={"scalar": 2, "valu": 4, "eup": 1, "vld": 3, "vst": 2, "mxu": 2, "xlu": 2},
    timings={
        "smov": Timing("scalar", 1),  # assumed
        **dict.fromkeys((*_ALU, "vmul", "vrot", "vpack"), Timing("valu", 2)),
        "vsel": Timing("valu", 1),
        **dict.fromkeys(("vpow2", "vrcp", "vrsqrt"), Timing("eup", 14)),
        "vld": Timing("vld", 1),
        "vst": Timing("vst", 7),  # store → load
        "vmatpush": Timing("mxu", 4, every=1 + 3),  # prepare → push 1, push → next prepare 3; latency assumed
        "vmatmul": Timing("mxu", 192),  # → first pop
        "vxpose": Timing("xlu", 120, every=4),  # → first pop, then 4 for each
        "vbcast": Timing("xlu", 114),  # → pop
        "vpop.mrf": Timing("mxu", 1, every=2),  # pop → pop; latency assumed
        "vpop.trf": Timing("xlu", 1, every=2),
    },
)

MACHINES: dict[str, MachineSpec] = {machine.name: machine for machine in (TOY, TEACHING, V6E)}
