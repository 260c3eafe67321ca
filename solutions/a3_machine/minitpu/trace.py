"""Writes a run as a trace that https://ui.perfetto.dev opens: one row for each slot, one cycle a microsecond.

    python -m minitpu.trace program.json [trace.json]

`program.json` holds `machine` (a name, or a machine as data) and either `bundles`, lists of lines of
LLO, or `operations`, which are then run one at a time. Memory is zeros, so it shows time, not values.

The file is in the trace-event format: "M" events name the rows, an "X" event is an operation in its
slot, a pair of "b" and "e" spans from its issue until its result has landed, and "C" counts registers.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .isa import MACHINES, MachineSpec, Operation, parse
from .machine import Run, one_at_a_time, run
from .registers import live_registers

ISSUE, FLIGHT = 1, 2  # process ids: what is issued, what is under way


def chrome_trace(bundles: Sequence[Sequence[Operation]], machine: MachineSpec, done: Run) -> dict[str, Any]:
    """The run of these bundles as a trace, ready for `json.dump`."""
    rows = [f"{slot} {number}" for slot, count in machine.slots.items() for number in range(count)]
    events = [_named("process_name", f"{machine.name}: slots", ISSUE), _named("process_name", "in flight", FLIGHT)]
    events += [_named("thread_name", row, ISSUE, rows.index(row)) for row in rows]
    taken: Counter[tuple[int, str]] = Counter()
    for number, (cycle, slot, operation, lands) in enumerate(done.issued):
        row = rows.index(f"{slot} {taken[cycle, slot]}")
        taken[cycle, slot] += 1
        about = {"operation": str(operation), "bundle": cycle, "lands": lands}
        event = {"name": operation.opcode, "cat": slot, "pid": ISSUE, "tid": row, "ts": cycle, "args": about}
        events.append({**event, "ph": "X", "dur": 1})
        flight = {"name": str(operation), "cat": slot, "pid": FLIGHT, "tid": 0, "id": number}
        events.append({**flight, "ph": "b", "ts": cycle})
        events.append({**flight, "ph": "e", "ts": lands})
    for cycle, live in enumerate(live_registers(bundles, machine)):
        events.append(
            {"name": "live registers", "ph": "C", "pid": ISSUE, "tid": 0, "ts": cycle, "args": {"live": live}}
        )
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"cycles": done.cycles}}


def _named(what: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "ts": 0, "args": {"name": name}}


def trace_file(data: dict[str, Any]) -> dict[str, Any]:
    """The trace of what a `program.json` holds."""
    named = data.get("machine", "teaching")
    machine = MACHINES[named] if isinstance(named, str) else MachineSpec.from_data(named)
    if "bundles" in data:
        bundles = [[parse(line) for line in bundle] for bundle in data["bundles"]]
    else:
        bundles = one_at_a_time([parse(line) for line in data["operations"]], machine)
    return chrome_trace(bundles, machine, run(bundles, machine, np.zeros((1, machine.lanes), np.float32)))


def main(arguments: Iterable[str]) -> None:
    """Read a program, write its trace beside it."""
    source, *rest = map(Path, arguments)
    target = rest[0] if rest else source.with_suffix(".trace.json")
    trace = trace_file(json.loads(source.read_text("utf-8")))
    target.write_text(json.dumps(trace), "utf-8")
    print(f"{target}: {trace['otherData']['cycles']} cycles; open it at https://ui.perfetto.dev")


if __name__ == "__main__":
    main(sys.argv[1:])
