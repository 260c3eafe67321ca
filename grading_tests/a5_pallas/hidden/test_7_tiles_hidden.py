"""Part 7, hidden: the order of copies."""

from __future__ import annotations

from collections import Counter

from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import judge
import tied

ROWS, COLUMNS = 512, 256


def copies_of(student, rng):
    """The only kernel of add_manual_dma, for 512 × 256."""
    kind = [[ROWS, COLUMNS], "float32"]
    plan = student(judge.program_of, "tiles.add_manual_dma", [kind, kind], {})
    report = judge.measured(plan, "add_manual_dma")
    (kernel,) = judge.only_kernels(report, "add_manual_dma")
    check.that(
        not kernel.work.unknown,
        "add_manual_dma: its copies",
        expected="copies that follow from loop counters",
        got=kernel.work.unknown[0] if kernel.work.unknown else "",
    )
    tied.computes(rng, plan, [kind, kind], lambda x, y: x + reference.wide(y), "add_manual_dma", ulps=2)
    return kernel


@number("7.4")
@weight(1)
@hint("As many waits as starts on every semaphore, and no copy into a buffer while another is on its way there.")
def test_every_copy_is_waited_for(student, rng):
    """copies by hand: everything is copied once and waited for once, through two small buffers"""
    kernel = copies_of(student, rng)
    size = ROWS * COLUMNS * 4
    check.equal([kernel.loaded, kernel.stored], [2 * size, size], "bytes from HBM, and to HBM")
    check.at_most(kernel.vmem, 8 * 64 * COLUMNS * 4, "bytes of VMEM: two chunks each of x, y and the sum")
    started = Counter(copy.semaphore for copy in kernel.work.copies if copy.act == "start")
    waited = Counter(copy.semaphore for copy in kernel.work.copies if copy.act == "wait")
    check.that(
        started == waited,
        "copies that are started and waited for, by semaphore",
        expected=str(dict(started)),
        got=str(dict(waited)),
    )
    flying: dict[object, list[object]] = {}
    for copy in kernel.work.copies:
        buffer = (copy.target, copy.target_start) if copy.target.startswith("scratch") else copy.source
        queue = flying.setdefault(copy.semaphore, [])
        if copy.act == "wait":
            queue.pop(0)
            continue
        busy = [other for others in flying.values() for other in others]
        check.that(
            copy.target == "z" or buffer not in busy or not copy.target.startswith("scratch"),
            "a copy that is started",
            expected="a buffer into which no other copy is on its way",
            got=f"{copy.target} at {copy.target_start}: the copy before has not been waited for",
        )
        queue.append(buffer)


@number("7.5")
@weight(1)
@hint("While a chunk is added, the next one arrives and the last sum leaves. Handout, part 7, the picture.")
def test_copies_overlap_with_the_work(student, rng):
    """copies by hand: the next chunk arrives while this one is added, and the last sum leaves"""
    copies = copies_of(student, rng).work.copies
    chunks = ROWS // 64
    loads = [place for place, c in enumerate(copies) if c.act == "start" and c.target.startswith("scratch")]
    load_waits = [place for place, c in enumerate(copies) if c.act == "wait" and c.target.startswith("scratch")]
    stores = [place for place, c in enumerate(copies) if c.act == "start" and c.source.startswith("scratch")]
    store_waits = [place for place, c in enumerate(copies) if c.act == "wait" and c.source.startswith("scratch")]
    check.equal(
        [len(loads), len(load_waits), len(stores), len(store_waits)],
        [2 * chunks, 2 * chunks, chunks, chunks],
        f"copies in and out of {chunks} chunks: started and waited for",
    )
    for chunk in range(chunks - 1):
        arriving = sum(place < stores[chunk] for place in loads) - sum(p < stores[chunk] for p in load_waits)
        check.that(
            arriving >= 2,
            f"when the sum of chunk {chunk} is there",
            expected="the copies of the next chunk of x and y are on their way",
            got=f"{arriving} copies on their way",
        )
        check.that(
            store_waits[chunk] > load_waits[2 * chunk + 3],
            f"the sum of chunk {chunk}, on its way out",
            expected="it is waited for after the next chunk has arrived",
            got="it is waited for at once",
        )
