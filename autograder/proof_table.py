"""`make validate` at a terminal: one line per proof as it comes, then one row per assignment and what failed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table

from autograder.project import Assignment
from autograder.record import Proof, Record
from autograder.validate import RECORDS, proofs


class _Row(msgspec.Struct):
    """One assignment's proofs and how long they took."""

    name: str
    proofs: list[Proof]
    seconds: float


def run(console: Console, names: Sequence[str], only: str = "", again: bool = False) -> bool:
    """Prove, print, and return whether everything holds. `again` forgets what held in earlier runs."""
    rows = []
    for name in names:
        started, found = time.monotonic(), []
        assignment = Assignment(name)
        record = Record(RECORDS / f"{name}.jsonl", assignment, forget=again)
        for proof in proofs(assignment, only, record):
            found.append(proof)
            print(_line(name, proof), flush=True)
        rows.append(_Row(name, found, time.monotonic() - started))
    console.print(_table(rows))
    failed = [_line(row.name, proof) for row in rows for proof in row.proofs if not proof.holds]
    for line in failed:
        print(line)
    if any(proof.kept for row in rows for proof in row.proofs):
        print(
            "Proofs of an earlier run stand where nothing that they depend on has changed; --again repeats them."
        )
    print(f"{len(failed)} proofs failed" if failed else "every proof holds")
    return not failed


def _line(name: str, proof: Proof) -> str:
    mark = ("kept" if proof.kept else "ok  ") if proof.holds else "FAIL"
    return f"{mark} {name} {proof.kind}: {proof.claim}{'' if proof.holds else f' -- {proof.problem}'}"


def _table(rows: list[_Row]) -> Table:
    table = Table(title="what was proved of each assignment's tests")
    table.add_column("assignment", no_wrap=True)
    for column in ("right answers", "bugs", "others", "kept", "failed", "min"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        right = [proof for proof in row.proofs if proof.kind in ("solution", "wheat", "seeds")]
        bugs = [proof for proof in row.proofs if proof.kind == "chaff"]
        others = [proof for proof in row.proofs if proof not in right and proof not in bugs]
        cells = [f"{sum(proof.holds for proof in some)} of {len(some)}" for some in (right, bugs, others)]
        kept, failed = sum(proof.kept for proof in row.proofs), sum(not proof.holds for proof in row.proofs)
        table.add_row(row.name, *cells, str(kept), str(failed), f"{row.seconds / 60:.1f}")
    return table
