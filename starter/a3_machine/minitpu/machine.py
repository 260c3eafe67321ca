"""The machine: a VLIW core that runs bundles, one a cycle. This is the manual of its instruction set.

**Bundles.** A program is a list of bundles; bundle *t* is issued in cycle *t*, and all its
operations start together. How many operations of each kind of slot fit into a bundle, the
machine's data say (`isa.MachineSpec`). An empty bundle is a cycle in which nothing is issued.

**Time is exposed.** An operation reads its operands in the cycle in which it is issued. What
it writes lands at the end of cycle *issue + latency − 1*, so that it can be read from cycle
*issue + latency* on. There are no interlocks: whoever reads earlier gets the old value, and
nobody says so. Until something is written, registers and weights hold NaN.

**Registers.** `v0, v1, …` hold vectors of sublanes × lanes float32 words; `s0, s1, …` hold one word,
which stands for a vector full of it; `m0, m1, …` hold weights of an MXU, lanes × lanes words;
`q0, q1, …` are queues of results. How many vectors are live at once, `registers.py` counts.
**Memory** is rows of `lanes` words; a vector is `sublanes` rows.

| operation               | what it does                                                                |
|-------------------------|-----------------------------------------------------------------------------|
| `s0 = smov 1.5`         | s0 is the constant, as float32                                              |
| `v1 = vld [8]`          | v1 is rows 8, 9, … of memory                                                |
| `vst v1, [8]`           | these rows are v1                                                           |
| `v3 = vadd v1, v2`      | v1 + v2; likewise `vsub`, `vmul`, and `vmax` (NaN wins)                     |
| `v3 = vgt v1, v2`       | 1 where v1 > v2, else 0                                                     |
| `v4 = vsel v3, v1, v2`  | v1 where v3 is not 0, else v2                                               |
| `v2 = vrot v1, 4`       | sublane s of v2 is sublane s − 4 of v1, going round                         |
| `v2 = vpack v1`         | each word rounded to the nearest bfloat16, ties to even                     |
| `v2 = vpow2 v1`         | 2 to the power v1; likewise `vrcp` is 1 / v1, `vrsqrt` is 1 / √v1           |
| `vmatpush m0, v1, 3`    | rows 3·sublanes, … of the weights m0 are v1                                 |
| `q0 = vmatmul m0, v1`   | one result, v1 @ m0; only the upper 16 bits of words count (so `vpack`)     |
| `q0 = vxpose v1, 4`     | 4 results; number k has v1[l, sublanes·k + s] at sublane s and lane l, and  |
|                         | 0 at lanes from `sublanes` on                                               |
| `q0 = vbcast v1`        | one result: every lane of sublane s is v1[s, s]                             |
| `v2 = vpop.mrf q0`      | v2 is the oldest result in q0, which `vmatmul` put there                    |
| `v2 = vpop.trf q0`      | likewise, of `vxpose` or `vbcast`                                           |

**Queues.** `vmatmul`, `vxpose` and `vbcast` read their operands when issued. Their results arrive
in the queue `latency` cycles later, those of one `vxpose` `every` cycles apart. They are popped
in the order in which they were asked for. A queue is popped, and weights are pushed, at most
once in `every` cycles. (`vmatmul` sums up exactly and rounds once, to float32.)

**Refused** are, with bundle, slot and instruction: a bundle with too many operations
(`SlotError`), an operation or operand that the machine does not have (`OperandError`), two writes
landing in one place in one cycle (`ConflictError`), pops or pushes too close to one another
(`BusyError`), a pop before the result has arrived, and results never popped (`QueueError`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import ml_dtypes
import numpy as np

from .errors import BusyError, ConflictError, MachineError, OperandError, QueueError, SlotError
from .isa import MachineSpec, Operation, Place, writes

Bundle = Sequence[Operation]


def _select(mask: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    return np.where(mask != 0, yes, no)


# What the operations that only look at their operands compute.
COMPUTE: dict[str, Callable[..., np.ndarray]] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vmul": np.multiply,
    "vmax": np.maximum,
    "vgt": np.greater,
    "vsel": _select,
    "vpack": lambda x: x.astype(ml_dtypes.bfloat16),
    "vpow2": np.exp2,
    "vrcp": np.reciprocal,
    "vrsqrt": lambda x: 1 / np.sqrt(x),
}


class Issue(NamedTuple):
    """An operation as it was issued: in which cycle and slot, and when all that comes of it has landed."""

    cycle: int
    slot: str
    operation: Operation
    lands: int


@dataclass(frozen=True)
class Run:
    """What came of a run. `cycles`: until everything had landed. `bundles`: those that were not empty.

    `memory`: float32 [rows, lanes] afterwards. `registers`: the final values, by name.
    """

    memory: np.ndarray
    registers: dict[str, np.ndarray]
    cycles: int
    bundles: int
    issued: tuple[Issue, ...]


@dataclass
class Machine:
    """The state of a machine in cycle `cycle`: what has landed, and what is under way."""

    spec: MachineSpec
    memory: np.ndarray
    cycle: int = 0
    registers: dict[str, np.ndarray] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    queues: dict[str, deque[tuple[int, np.ndarray, Operation]]] = field(default_factory=dict)
    paced: dict[tuple[str, str], int] = field(default_factory=dict)  # when a queue or weights take the next
    landing: dict[int, dict[Place, tuple[np.ndarray, Operation]]] = field(default_factory=dict)  # by cycle
    issued: list[Issue] = field(default_factory=list)

    def step(self, bundle: Bundle) -> None:
        """Issue a bundle, then commit what lands at the end of this cycle."""
        taken: Counter[str] = Counter()
        for operation in bundle:
            if operation.opcode not in self.spec.timings:
                raise OperandError(self.cycle, "?", str(operation), f"{self.spec.name} has no {operation.opcode}")
            slot = self.spec.slot(operation)
            taken[slot] += 1
            if taken[slot] > self.spec.slots[slot]:
                problem = f"a bundle of {self.spec.name} has room for {self.spec.slots[slot]} operations in {slot}"
                raise SlotError(self.cycle, slot, str(operation), problem)
            self._execute(operation)
            done = self.cycle + self.spec.completion(operation)
            self.issued.append(Issue(self.cycle, slot, operation, done))
        self.cycle += 1
        for place, (value, operation) in self.landing.pop(self.cycle, {}).items():
            self._commit(place, value, operation)

    def _execute(self, operation: Operation) -> None:
        """Read the operands now; put the result under way."""
        self._check_operands(operation)
        self._check_pace(operation)
        operands = [self._read(name) for name in operation.sources if name[0] in "vs"]
        number = operation.index
        match operation.opcode:
            case "smov":
                self._land(operation, np.asarray(operation.number, np.float32))
            case "vld":
                self._land(operation, self.memory[number : number + self.spec.sublanes].copy())
            case "vst" | "vmatpush":
                self._land(operation, operands[0])
            case "vrot":
                self._land(operation, np.roll(operands[0], number, axis=0))
            case "vpop.mrf" | "vpop.trf":
                self._land(operation, self._pop(operation))
            case "vmatmul":
                self._queue(operation, [self._product(operands[0], operation.sources[0])])
            case "vxpose":
                self._queue(operation, [self._transposed(operands[0], k) for k in range(operation.results)])
            case "vbcast":
                column = np.diagonal(operands[0])[:, np.newaxis]
                self._queue(operation, [np.repeat(column, self.spec.lanes, axis=1)])
            case _:
                value = np.asarray(COMPUTE[operation.opcode](*operands), np.float32)
                self._land(operation, np.broadcast_to(value, (self.spec.sublanes, self.spec.lanes)))

    def _read(self, register: str) -> np.ndarray:
        if register in self.registers:
            return self.registers[register]
        shape = () if register.startswith("s") else (self.spec.sublanes, self.spec.lanes)
        return np.full(shape, np.nan, np.float32)

    def _land(self, operation: Operation, value: np.ndarray) -> None:
        """Let a value land in the places that the operation writes."""
        due = self.landing.setdefault(self.cycle + self.spec.latency(operation), {})
        for place in writes(operation, self.spec):
            if place in due:
                problem = f"`{due[place][1]}` lands in the same place in the same cycle"
                raise self.error(ConflictError, operation, problem)
            due[place] = (value, operation)

    def _commit(self, place: Place, value: np.ndarray, operation: Operation) -> None:
        match operation.opcode:
            case "vst":
                self.memory[int(place)] = value[int(place) - operation.index]
            case "vmatpush":
                first, weights = operation.index * self.spec.sublanes, self._weights(str(place)).copy()
                weights[first : first + self.spec.sublanes] = value
                self.weights[str(place)] = weights
            case _:
                self.registers[str(place)] = value

    # ------------------------------------------------------------ units

    def _queue(self, operation: Operation, results: list[np.ndarray]) -> None:
        queue = self.queues.setdefault(operation.dest, deque())
        for number, result in enumerate(results):
            queue.append((self.cycle + self.spec.arrival(operation, number), result, operation))

    def _pop(self, operation: Operation) -> np.ndarray:
        (name,) = operation.sources
        if not self.queues.get(name):
            raise self.error(QueueError, operation, f"there is no result in {name}, and none on its way")
        arrival, result, source = self.queues[name].popleft()
        if arrival > self.cycle:
            problem = f"the result of `{source}` arrives in cycle {arrival}"
            raise self.error(QueueError, operation, problem)
        if (source.opcode == "vmatmul") != (operation.opcode == "vpop.mrf"):
            raise self.error(QueueError, operation, f"the result of `{source}` needs the other vpop")
        return result

    def _weights(self, name: str) -> np.ndarray:
        if name not in self.weights:
            self.weights[name] = np.full((self.spec.lanes, self.spec.lanes), np.nan, np.float32)
        return self.weights[name]

    def _product(self, rows: np.ndarray, name: str) -> np.ndarray:
        exact = _upper_half(rows).astype(np.float64) @ _upper_half(self._weights(name)).astype(np.float64)
        return exact.astype(np.float32)

    def _transposed(self, value: np.ndarray, number: int) -> np.ndarray:
        size = self.spec.sublanes
        result = np.zeros_like(value)
        result[:, :size] = value[:, number * size : (number + 1) * size].T
        return result

    # ------------------------------------------------------------ refusals

    def _check_operands(self, operation: Operation) -> None:
        """Numbers and weights that this machine has."""
        spec = self.spec
        limits = {"vld": spec.rows - spec.sublanes + 1, "vst": spec.rows - spec.sublanes + 1}
        limits |= {"vrot": spec.sublanes, "vmatpush": spec.blocks, "vxpose": spec.blocks + 1}
        limit = limits.get(operation.opcode)
        if limit is not None and not 0 <= operation.index < limit:
            raise self.error(OperandError, operation, f"its number must be at least 0 and below {limit}")
        for name in operation.sources:
            if name.startswith("m") and int(name[1:]) >= spec.weights:
                raise self.error(OperandError, operation, f"{spec.name} has {spec.weights} sets of weights")

    def _check_pace(self, operation: Operation) -> None:
        """One pop of a queue, one push to weights each `every` cycles."""
        if operation.opcode not in ("vmatpush", "vpop.mrf", "vpop.trf"):
            return
        key = operation.opcode, operation.sources[0]
        if self.cycle < self.paced.get(key, 0):
            problem = f"{key[1]} takes the next {key[0]} in cycle {self.paced[key]}"
            raise self.error(BusyError, operation, problem)
        self.paced[key] = self.cycle + self.spec.every(operation)

    def error(self, kind: type[MachineError], operation: Operation, problem: str) -> MachineError:
        """An exception about an operation in this cycle."""
        return kind(self.cycle, self.spec.slot(operation), str(operation), problem)


def _upper_half(value: np.ndarray) -> np.ndarray:
    """The words with their lower 16 bits cleared, which is what an MXU sees of them."""
    words = np.ascontiguousarray(value, np.float32).view(np.uint32)
    return (words & np.uint32(0xFFFF0000)).view(np.float32)


def run(bundles: Sequence[Bundle], spec: MachineSpec, memory: np.ndarray) -> Run:
    """Run bundles on a machine, and wait until everything has landed.

    `memory`: float32 [at most rows, lanes]; it is copied, and what is missing is 0. Raises
    MachineError for what the manual refuses.
    """
    rows = np.zeros((spec.rows, spec.lanes), np.float32)
    rows[: len(memory)] = memory
    machine = Machine(spec, rows)
    with np.errstate(all="ignore"):
        for bundle in bundles:
            machine.step(bundle)
        while machine.landing:
            machine.step(())
    for queue in machine.queues.values():
        for _, _, operation in queue:
            raise machine.error(QueueError, operation, "a result of it was never popped")
    cycles = max((issue.lands for issue in machine.issued), default=0)
    filled = sum(1 for bundle in bundles if bundle)
    return Run(rows, machine.registers, cycles, filled, tuple(machine.issued))


def one_at_a_time(operations: Sequence[Operation], spec: MachineSpec) -> list[list[Operation]]:
    """Bundles that run a program as it is written: each operation waits for the one before to land.

    Slow, and right by construction: what a schedule computes must be what this computes.
    """
    bundles: list[list[Operation]] = []
    for operation in operations:
        bundles.append([operation])
        wait = max(spec.completion(operation), spec.every(operation))
        bundles += [[] for _ in range(wait - 1)]
    return bundles
