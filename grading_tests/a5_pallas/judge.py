"""Judges what a kernel computed and how it is built, from evidence in plain data.

Values are compared with NumPy in float64. Structure is measured here: the program that came back is read equation
by equation, its index maps are walked over its grid, and bytes, operations and memory are added up by the given
`inspect_kernel`, of which this is the pristine copy.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from given_pallas_kernels import inspect_kernel, program, walk
from given_pallas_kernels.inspect_kernel import Kernel, Report, mib

from autograder.kit import check, probe, show

from numpy_rules import DTYPES

MIB = 1 << 20
EPS = {"float32": 2.0**-23, "float64": 2.0**-52}
MATHEMATICS = "mathematics"
LOWERING = "lowering"


class Ran(msgspec.Struct, frozen=True):
    """A function's results, and the program that gave them."""

    values: list[np.ndarray]
    program: program.Program

    @property
    def value(self) -> np.ndarray:
        """The only result."""
        check.that(len(self.values) == 1, "the number of results", expected="1", got=len(self.values))
        return self.values[0]


@probe
def results(kernel, arguments, options, how) -> Ran:
    """What your kernel computes in this interpreter, and its program."""
    import describe

    return describe.ran(kernel, arguments, options, how)


@probe
def mapped_results(kernel, arguments, options, how, in_axes) -> Ran:
    """What your kernel computes under vmap, and its program."""
    import describe

    return describe.mapped(kernel, arguments, options, how, in_axes)


@probe
def gradients(kernel, arguments, cotangent, options, how) -> Ran:
    """The cotangents of a kernel's arguments, by vjp, and the program that computes them."""
    import describe

    return describe.pulled_back(kernel, arguments, cotangent, options, how)


@probe
def program_of(kernel, arguments, options) -> program.Program:
    """The program of your kernel for arguments of these types; it is not run."""
    import describe

    return describe.program(kernel, arguments, options, "mathematics")


@probe
def gradient_program_of(kernel, arguments, cotangent, options) -> program.Program:
    """The program of a kernel's gradient for arguments of these types; it is not run."""
    import describe

    return describe.backward_program(kernel, arguments, cotangent, options, "mathematics")


@probe
def lowering_of(kernel, arguments, options) -> str:
    """What JAX says against lowering your kernel for a TPU."""
    import describe

    return describe.lowering(kernel, arguments, options)


@probe
def gradient_lowering_of(kernel, arguments, options) -> str:
    """What JAX says against lowering the gradient of your kernel for a TPU."""
    import describe

    return describe.lowering(kernel, arguments, options, gradient=True)


def close(got: np.ndarray, expected: np.ndarray, what: str, *, ulps: float, dtype: str = "float32") -> None:
    """Pass if `got` has the dtype and is close to `expected`, which is float64.

    Units in the last place are those of the largest expected magnitude; for bfloat16, those of each value itself,
    so that rounding twice is noticed wherever it happens. NaN anywhere says where it comes from.
    """
    want = np.asarray(expected).astype(DTYPES[dtype])
    check.array_type(got, want, what)
    wide, exact = got.astype(np.float64), np.asarray(expected, np.float64)
    if np.isnan(wide).any() and not np.isnan(exact).any():
        count = int(np.isnan(wide).sum())
        first = [int(i) for i in np.argwhere(np.isnan(wide))[0]]
        check.fail(
            what,
            expected="numbers",
            got=f"NaN in {count:,} of {wide.size:,} places, the first at {first}",
            off="interpreters have NaN where nobody wrote: beyond an array's edge, in fresh scratch and outputs, "
            "or where a copy was to arrive that nobody waited for",
        )
    if dtype == "bfloat16":
        _close_to_each(got, want, wide, exact, what, ulps)
    else:
        check.close(got, want, relative=ulps * EPS[dtype], what=what)


def _close_to_each(
    got: np.ndarray, want: np.ndarray, wide: np.ndarray, expected: np.ndarray, what: str, ulps: float
) -> None:
    """Each value within so many units in its own last place of bfloat16, and the noise of float32."""
    unit = np.exp2(np.floor(np.log2(np.abs(expected) + 1e-30)) - 7)
    allowed = ulps * unit + 64 * EPS["float32"] * np.abs(expected).max(initial=0)
    wrong = np.argwhere(~(np.abs(wide - expected) <= allowed))
    if len(wrong):
        head = f"{len(wrong):,} of {wide.size:,} values are more than {ulps:g} units in the last place off:"
        rows = [
            f"at {place.tolist()}: expected {expected[tuple(place)]:.6g}, got {wide[tuple(place)]:.6g}"
            for place in wrong[:5]
        ]
        check.fail(what, expected=show.value(want), got=show.value(got), off="\n".join([head, *rows]))


def measured(plan: program.Program, what: str) -> Report:
    """The program, measured; a malformed one, or one too long to follow, fails the check."""
    problem = malformed(plan)
    if problem:
        check.fail(f"the program of {what}", expected="a well-formed program", got=problem)
    try:
        report = inspect_kernel.report(plan)
        for kernel in report.kernels:
            assert kernel.traffic is not None and kernel.work is not None
    except (walk.TooLong, RecursionError, OverflowError, MemoryError) as error:
        check.fail(f"the program of {what}", expected="a grid that can be followed", got=str(error))
    return report


def only_kernels(report: Report, what: str, at_least: int = 1) -> list[Kernel]:
    """The kernels of a program in which the work is done by kernels and nowhere else."""
    count = len(report.kernels)
    check.that(
        count >= at_least,
        f"{what}: calls of pl.pallas_call",
        expected=f"at least {at_least}",
        got=f"{count}: the work is not done by a kernel" if not count else str(count),
    )
    outside = sorted(report.primitives_outside & {"pure_callback", "io_callback", "custom_call", "ffi_call"})
    check.that(not outside, f"{what}: what is outside of kernels", expected="no calls of Python", got=str(outside))
    total = report.flops + report.flops_outside
    check.that(
        report.fraction_outside <= 0.01,
        f"{what}: floating-point operations outside of kernels",
        expected="at most 1 % of all",
        got=f"{report.flops_outside:,.0f} of {total:,.0f} ({report.fraction_outside:.1%})",
    )
    return report.kernels


def legal(report: Report, what: str) -> None:
    """Index maps stay inside of arrays, and no output block is left and comes back."""
    for problem in report.problems():
        check.fail(f"{what}: index maps", expected="blocks that a TPU can fetch and write", got=problem)


def lowers(message: str, what: str) -> None:
    """Pass if lowering for a TPU had nothing to say."""
    check.that(not message, f"{what}: lowering for a TPU", expected="no complaint", got=message)


def fits(report: Report, budget: int, what: str) -> None:
    """Every kernel's blocks, with their buffers, and its scratch fit into so many bytes of VMEM."""
    for kernel in report.kernels:
        check.that(
            kernel.vmem <= budget,
            f"{what}: VMEM of kernel {kernel.call.name}",
            expected=f"at most {mib(budget)}",
            got=f"{mib(kernel.vmem)}: {_largest_blocks(kernel)}",
        )


def _largest_blocks(kernel: Kernel) -> str:
    blocks = sorted((*kernel.call.inputs, *kernel.call.outputs), key=lambda block: -block.bytes * block.buffers)
    return ", ".join(
        f"{block.name} {block.buffers} × {mib(block.bytes)}" for block in blocks[:3] if block.space == "vmem"
    )


Fraction = tuple[float, str]
"""What part of the points something earns, and the failure's message."""


def traffic_fraction(report: Report, full: float, none: float, what: str) -> Fraction:
    """What the traffic between HBM and VMEM earns: all up to `full` bytes, nothing from `none` on."""
    moved = report.hbm_bytes
    culprits = [
        str(traffic)
        for kernel in report.kernels
        for traffic in sorted(kernel.traffic, key=lambda traffic: -traffic.bytes)
        if traffic.returns and not traffic.output
    ]
    sentence = f"{what} moves {mib(moved)} between HBM and VMEM; {mib(full)} suffices"
    return check.fraction_within(moved, full=full, none=none), "\n".join([sentence, *culprits[:2]])


def earned(fraction: Fraction) -> None:
    """Earn the smallest of several fractions, or all points."""
    check.partly(fraction[0], "traffic between HBM and VMEM", expected="what suffices", got=fraction[1])


def largest_value(report: Report) -> program.Type:
    """The largest array that the program makes, inside of kernels or outside of them."""
    inside = [kernel.work.largest for kernel in report.kernels]
    return max([*inside, report.largest_outside], key=lambda kind: kind.size)


def malformed(plan: program.Program) -> str:
    """What is wrong with the form of a program that came back, in a sentence; empty if nothing is."""
    if not plan.bodies:
        return "it has no equations"
    for body in plan.bodies:
        if problem := _malformed_body(body, plan):
            return problem
    for call in plan.calls:
        if problem := _malformed_call(call, plan):
            return problem
    return "its bodies contain one another" if _cyclic(plan) else ""


def _malformed_body(body: program.Body, plan: program.Program) -> str:
    variables = range(len(body.types))
    if any(not _is_type(kind) for kind in body.types):
        return "a type has a shape that no array has"
    named = [*body.inputs, *body.constants, *(n for n in body.outputs if isinstance(n, int))]
    for equation in body.equations:
        named += [*equation.results, *(n for n in equation.operands if isinstance(n, int))]
        named += [view.ref for view in equation.views]
        named += [
            part.start for view in equation.views for part in view.index or [] if isinstance(part.start, int)
        ]
        if any(number not in range(1, len(plan.bodies)) for number in equation.bodies):
            return "an equation names a body that is not there"
        if equation.call is not None and equation.call not in range(len(plan.calls)):
            return "an equation names a call that is not there"
        if any(part.size < 0 for view in equation.views for part in view.index or []):
            return "a part of a Ref has a negative size"
        if not _plain_params(equation.params):
            return f"the parameters of {equation.primitive[:40]} make no sense"
    return "" if all(number in variables for number in named) else "a variable has no type"


def _is_type(kind: program.Type) -> bool:
    return len(kind.shape) <= 12 and all(0 <= n < 1 << 31 for n in kind.shape)


def _plain_params(params: dict[str, Any]) -> bool:
    counts = ("axis", "length", "num_consts", "num_carry", "cond_nconsts", "body_nconsts")
    return all(
        type(params[name]) is int and 0 <= params[name] < 1 << 31 for name in counts if name in params
    ) or isinstance(params.get("axis"), list)


def _malformed_call(call: program.Call, plan: program.Program) -> str:
    if len(call.grid) > 8 or any(not 0 < n < 1 << 31 for n in call.grid):
        return f"a grid of {call.grid[:8]}"
    if call.kernel not in range(1, len(plan.bodies)):
        return "a kernel that is not there"
    for block in (*call.inputs, *call.outputs):
        sizes = [*block.shape, block.buffers]
        if len(block.shape) != len(block.array.shape) or not _is_type(block.array):
            return f"a block of {block.name[:40]} that has another rank than its array"
        if any(not 0 <= n < 1 << 31 for n in sizes) or block.index_map not in range(1, len(plan.bodies)):
            return f"a block of {block.name[:40]} that makes no sense"
    scalars = [array for array in call.scalars if array is not None]
    if any(array.dtype.kind not in "iub" or array.size > 1 << 20 for array in scalars):
        return "prefetched operands that are not integers"
    return "" if all(map(_is_type, call.scratch)) else "scratch of a shape that no array has"


def _cyclic(plan: program.Program) -> bool:
    """Whether some body contains itself; bodies are numbered after those that they stand in."""
    inside: dict[int, list[int]] = {
        number: [
            *(inner for equation in body.equations for inner in equation.bodies),
            *(
                inner
                for equation in body.equations
                if equation.call is not None
                for call in [plan.calls[equation.call]]
                for inner in (call.kernel, *(block.index_map for block in (*call.inputs, *call.outputs)))
            ),
        ]
        for number, body in enumerate(plan.bodies)
    }
    return any(inner <= number for number, inners in inside.items() for inner in inners)
