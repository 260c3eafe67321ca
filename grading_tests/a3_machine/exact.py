"""The grader's own answers about dependences and bounds, and the programs and machines that it asks about.

Everything is computed from pairs of operations, in quadratic time. This file does not ship; what the starter
needs of it is written down in `answers.json` (see `oracle.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from given_minitpu.isa import TEACHING, TOY, V6E, MachineSpec, Place, reads, writes
from given_minitpu.llo import Program
from given_minitpu.programs import program as named

import generators
from oracle import NEVER, Asked

Rng = np.random.Generator

# ---------------------------------------------------------------- constraints and bounds


def distances(program: Program, machine: MachineSpec) -> np.ndarray:
    """The least distance from each operation to each later one that a rule of the machine demands directly."""
    code = program.operations
    least = np.full((len(code), len(code)), NEVER, np.int64)

    def demand(before: int, after: int, distance: int) -> None:
        least[before, after] = max(least[before, after], distance)

    touching: dict[Place, list[tuple[int, bool]]] = defaultdict(list)
    sent: dict[str, list[tuple[int, int]]] = defaultdict(list)
    popped: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(code):
        for is_write, places in ((False, reads(one, machine)), (True, writes(one, machine))):
            for place in places:
                touching[place].append((index, is_write))
        sent[one.dest] += [(index, number) for number in range(one.results)]
        if one.opcode in ("vpop.mrf", "vpop.trf"):
            popped[one.sources[0]].append(index)
    for users in touching.values():
        for position, (after, writes_it) in enumerate(users):
            for before, wrote_it in users[:position]:
                if before != after and (writes_it or wrote_it):
                    late = machine.latency(code[after]) - 1 if writes_it else 0
                    demand(before, after, (machine.latency(code[before]) if wrote_it else 0) - late)
                    if code[before].opcode == code[after].opcode == "vmatpush":
                        demand(before, after, machine.every(code[before]))
    for queue, pops in popped.items():
        for (source, number), pop in zip(sent[queue], pops, strict=True):
            demand(source, pop, machine.arrival(code[source], number))
        for before, after in pairwise(pops):
            demand(before, after, machine.every(code[before]))
    for senders in sent.values():
        for (before, _), (after, _) in pairwise(senders):
            if before != after:
                demand(before, after, 1)
    return least


class Bound:
    """What no schedule with the program's own registers can be shorter than: critical path, work, packing, W."""

    def __init__(self, program: Program, machine: MachineSpec) -> None:
        least = distances(program, machine)
        count = len(program.operations)
        heads = np.zeros(count, np.int64)
        tails = np.array([machine.completion(operation) for operation in program.operations], np.int64)
        for index in range(count):
            heads[index] = (heads[:index] + least[:index, index]).max(initial=0)
        for index in reversed(range(count)):
            tails[index] = (tails[index + 1 :] + least[index, index + 1 :]).max(initial=tails[index])
        self.heads, self.tails = heads.tolist(), tails.tolist()
        slots = np.array([machine.slot(operation) for operation in program.operations])
        self.critical_path = int((heads + tails).max(initial=0))
        self.work = {
            str(slot): -(-int((slots == slot).sum()) // machine.slots[slot]) for slot in sorted(set(slots))
        }
        self.packing = 0
        for slot in self.work:
            mine = slots == slot
            for head in set(heads[mine].tolist()):
                longest = np.sort(tails[mine & (heads >= head)])[::-1]  # the k-th cannot be issued before …
                cycles = head + np.arange(len(longest)) // machine.slots[slot] + longest
                self.packing = max(self.packing, int(cycles.max()))
        self.cycles = max(self.critical_path, self.packing, *self.work.values())


# ---------------------------------------------------------------- what is asked

_QUEUE_AGAIN = [
    *("v0 = vld [0]", "q0 = vxpose v0, 3", "q0 = vbcast v0", "v1 = vpop.trf q0", "v2 = vpop.trf q0"),
    *("v3 = vpop.trf q0", "v4 = vpop.trf q0", "vmatpush m0, v1, 0", "q1 = vmatmul m0, v2", "v5 = vpop.mrf q1"),
    *("vmatpush m0, v3, 1", "vmatpush m0, v4, 0", "q1 = vmatmul m0, v5", "v6 = vpop.mrf q1"),
]


def _registers(rng: Rng) -> Asked:
    machine = generators.scalar_machine(rng)
    return generators.random_program(rng, int(rng.integers(8, 40)), names=int(rng.integers(3, 8))), machine


def _memory(rng: Rng) -> Asked:
    machine = generators.vector_machine(rng, sublanes=8, lanes=8)
    return generators.random_program(rng, 30, loads=0.3, stores=0.4, rows=40, mix=("vadd",)), machine


def _queue_again(rng: Rng) -> Asked:
    program = Program.from_data({"operations": _QUEUE_AGAIN, "outputs": ["v6"]})
    return program, generators.vector_machine(rng) if rng.random() < 0.6 else V6E


def _toy(rng: Rng) -> Asked:
    while True:
        program = generators.random_program(rng, int(rng.integers(40, 121)), loads=0.2, mix=generators.TOY_MIX)
        if generators.has_one_bottleneck(Bound(program, TOY)):
            return program, TOY


DRAW: dict[str, Callable[[Rng], Asked]] = {
    "registers": _registers,
    "memory": _memory,
    "a queue again": _queue_again,
    "attention": lambda rng: (named("attention", 1), generators.vector_machine(rng)),
    "rms_norm": lambda rng: (named("rms_norm", 1), generators.vector_machine(rng)),
    "rms_norm, teaching": lambda rng: (named("rms_norm", 1), TEACHING),
    "bounds on toy": lambda rng: (generators.random_program(rng, 60, loads=0.2), TOY),
    "bounds with few names": lambda rng: (
        generators.random_program(rng, 50, names=8),
        generators.scalar_machine(rng),
    ),
    "bounds on random machines": lambda rng: (
        generators.random_program(rng, 60, loads=0.2),
        generators.scalar_machine(rng),
    ),
    "bounds of softmax": lambda rng: (named("softmax", 4), TEACHING),
    "bounds of attention": lambda rng: (named("attention", 1), generators.vector_machine(rng)),
    "toy": _toy,
}
GRAPHS = ("registers", "memory", "a queue again", "attention", "rms_norm", "rms_norm, teaching")
