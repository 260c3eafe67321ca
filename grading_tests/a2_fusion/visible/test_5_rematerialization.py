"""Part 5: computing again what would cost more to keep."""

from __future__ import annotations

from given_minixla import text
from given_minixla.liveness import peak_memory
from given_minixla.programs import program
from given_minixla.roofline import TPU7X_CORE

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
from generators import Builder

FIELDS = ("name", "hbm_bytes", "mxu_flops", "vpu_operations", "operations_per_transcendental")
TPU = {field: getattr(TPU7X_CORE, field) for field in FIELDS}


@probe
def recompute(module, machine) -> judge.Rewritten:
    """recompute_for_bandwidth over a fused module"""
    from minixla import rematerialization, roofline, text

    parsed = text.parse(module)
    after, changed = rematerialization.recompute_for_bandwidth(parsed, roofline.Machine(**machine))
    return {"after": text.print_module(after), "changed": changed, "given": text.print_module(parsed)}


def recomputed(student, module, rng, machine):
    """The module after recomputation, judged as any pass is."""
    after = judge.accepted(module, student(recompute, text.print_module(module), machine))
    judge.kernels(module, after)
    judge.same_values(module, after, generators.arguments(module, rng), rule="recomputing changes no bit")
    return after


@number("5.1")
@weight(2)
@hint("Who reads the exponentials? What does that kernel read anyway, from which it could compute them again?")
def test_exponentials_are_recomputed(student, rng):
    """attention that stores exp: recomputing it saves one write of the scores less one read of the row maxima"""
    n, d = int(rng.choice([192, 320, 448])), int(rng.choice([64, 96]))
    module = generators.resized(program("attention_storing_exp"), {1024: n, 512: d})
    after = recomputed(student, module, rng, TPU)
    inputs = generators.arguments(module, rng)
    before, got = judge.traffic(module, inputs), judge.traffic(after, inputs, module)
    check.at_most(got[0], before[0], "kernels")
    check.equal(before[1] - got[1], 4 * n * n - 4 * n, f"bytes saved at {n} by {n} scores")
    judge.at_least(module, after, 2, "exponential", rule="exp is computed in both kernels that need it")


@number("5.2")
@weight(1)
@hint("What does the machine take for the added operations, and what for the saved bytes?")
def test_only_if_it_is_faster(student, rng):
    """with vector units too slow for it, nothing is recomputed, and the pass says so"""
    module = generators.resized(program("attention_storing_exp"), {1024: 192, 512: 64})
    slow = TPU | {"vpu_operations": TPU["vpu_operations"] / 100}
    after = recomputed(student, module, rng, slow)
    check.equal(text.print_module(after), text.print_module(module), "the module, which should be as it was")


@number("5.3")
@weight(1)
@hint("A dot reads whole matrices to make each element. Leave dots, and reductions, where they are.")
def test_dots_are_not_recomputed(student, rng):
    """a dot's result is never recomputed for bandwidth, however slow memory is"""
    first, second = Builder("first"), Builder("second")
    h = first.dot(first.parameter("f32", 64, 4), first.parameter("f32", 4, 64))
    first.outputs = (h, first.reduce(h, 1))
    a, total = second.parameter("f32", 64, 64), second.parameter("f32", 64)
    second.outputs = (second.op("multiply", a, second.along(total, (64, 64), 0)),)
    build = Builder("normalised")
    x, w = build.parameter("f32", 64, 4), build.parameter("f32", 4, 64)
    module = build.module(*build.fusion(second, "kLoop", *build.fusion(first, "kOutput", x, w)))
    after = recomputed(student, module, rng, TPU | {"hbm_bytes": 1e3})
    judge.at_most(module, after, 1, "dot", rule="a dot is not computed again")
    judge.at_most(module, after, 1, "reduce", rule="a reduction is not computed again")


@number("5.4")
@weight(1.5)
@hint("Which value waits across the peak? Clone its instruction directly before the reader that comes later.")
def test_peak_memory_is_lowered_to_the_limit(student, rng):
    """broadcast 4 KiB, concatenate 8 KiB: a limit of 14 KiB brings the peak from 16 to 12, 20 KiB nothing"""
    scale = int(rng.choice([1, 2, 3]))
    sizes = {1024: 1024 * scale, 2048: 2048 * scale, 1025: 1024 * scale + 1}
    module = generators.resized(program("broadcast_concat"), sizes)
    name, function = "rematerialization", "recompute_for_memory"
    after = judge.passed(student, name, module, function=function, limit_bytes=14 * 1024 * scale)
    judge.same_values(module, after, generators.arguments(module, rng))
    peak = peak_memory(after)
    if peak > 14 * 1024 * scale:
        judge.fail(
            module, after, f"the peak was {peak_memory(module):,} bytes, the limit is 14 KiB; it is {peak:,}"
        )
    judge.at_most(module, after, 2, "broadcast", rule="one clone is enough")
    entry = after.entry_computation
    order = [each.name for each in entry.instructions]
    late = [each for each in entry.instructions if each.opcode == "broadcast"][-1]
    (reader,) = entry.users()[late.name]
    if order.index(reader) != order.index(late.name) + 1:
        judge.fail(module, after, f"the clone %{late.name} stands directly before its reader %{reader}")
    same = judge.passed(student, name, module, function=function, limit_bytes=20 * 1024 * scale)
    check.equal(text.print_module(same), text.print_module(module), "the module, which is within 20 KiB already")
