"""Programs: what every device does to multiply two cut matrices, or to cut one array in another way.

A program is a tuple of steps. Before the dot, steps move the operands "a" and "b"; the dot multiplies the local
blocks and gives "c"; after it, steps move "c". A program that only cuts an array anew moves an operand "x".

`apply` says what each step does to the *state*: for every operand its layout (for each dimension, the axes that
cut it, major first), and the axes along which "c" is still *partial*: each device holds one term of a sum. It
refuses steps that make no sense. Axes are taken off and put on at the minor end of a dimension only, since only
then are a block's pieces next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .errors import ProgramError
from .mesh import Mesh

Layout = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class AllGather:
    """Join the blocks along `axes`, the last ones that cut dimension `dim`. `bytes`: sent by each device."""

    operand: str
    axes: tuple[str, ...]
    dim: int
    bytes: int


@dataclass(frozen=True)
class AllReduce:
    """Add up the terms along `axes`, for everybody; "c" is partial along them. `bytes`: sent by each device."""

    operand: str
    axes: tuple[str, ...]
    bytes: int


@dataclass(frozen=True)
class ReduceScatter:
    """Add up the terms along `axes`, and keep a block of dimension `dim` each. `bytes`: sent by each device."""

    operand: str
    axes: tuple[str, ...]
    dim: int
    bytes: int


@dataclass(frozen=True)
class AllToAll:
    """Move `axes`, the last ones that cut `from_dim`, to `to_dim`. `bytes`: sent by each device."""

    operand: str
    axes: tuple[str, ...]
    from_dim: int
    to_dim: int
    bytes: int


@dataclass(frozen=True)
class Permute:
    """Hand whole blocks round, so that the layout becomes `to`, with blocks of the same shape. `bytes`: of one."""

    operand: str
    to: Layout
    bytes: int


@dataclass(frozen=True)
class Slice:
    """Every device keeps its block of `dim` along `axes`, which did not cut the operand. Sends nothing."""

    operand: str
    axes: tuple[str, ...]
    dim: int


@dataclass(frozen=True)
class Dot:
    """Multiply the local blocks of "a" and "b". Sends nothing."""


Step = AllGather | AllReduce | ReduceScatter | AllToAll | Permute | Slice | Dot
Program = tuple[Step, ...]


@dataclass(frozen=True)
class State:
    """Global shapes and layouts by operand, and the axes along which "c" is partial."""

    shapes: dict[str, tuple[int, ...]]
    layouts: dict[str, Layout]
    partial: tuple[str, ...] = ()

    def local_shape(self, operand: str, mesh: Mesh) -> tuple[int, ...]:
        """The shape of an operand's block on each device."""
        pairs = zip(self.shapes[operand], self.layouts[operand], strict=True)
        return tuple(size // mesh.size_of(axes) for size, axes in pairs)


def matmul_state(shape: tuple[int, int, int], a: Layout, b: Layout) -> State:
    """The start of a matmul of a[m, k] and b[k, n]; `shape` is (m, k, n)."""
    m, k, n = shape
    return State({"a": (m, k), "b": (k, n)}, {"a": a, "b": b})


def apply(step: Step, state: State, mesh: Mesh, number: int = 0) -> State:
    """The state after a step. Raises ProgramError (with this `number`) if the step is not allowed."""
    if isinstance(step, Dot):
        return _dot(state, number)
    if step.operand not in state.layouts:
        raise ProgramError(number, f"there is no operand {step.operand!r} here")
    layout, partial = list(state.layouts[step.operand]), list(state.partial if step.operand == "c" else ())
    axes = () if isinstance(step, Permute) else step.axes
    if not isinstance(step, Permute) and (not axes or len(set(axes)) < len(axes)):
        raise ProgramError(number, f"a step moves at least one axis, and each of them once, not {axes}")
    match step:
        case AllGather(_, axes, dim):
            _take(layout, axes, dim, number)
        case AllToAll(_, axes, from_dim, to_dim):
            _take(layout, axes, from_dim, number)
            _put(layout, axes, to_dim, number)
        case Slice(_, axes, dim):
            _new(axes, layout, partial, mesh, number)
            _put(layout, axes, dim, number)
        case AllReduce(_, axes) | ReduceScatter(_, axes):
            if not set(axes) <= set(partial):
                raise ProgramError(number, f"{step.operand} is partial along {tuple(partial)}, not along {axes}")
            partial = [axis for axis in partial if axis not in axes]
            if isinstance(step, ReduceScatter):
                _put(layout, axes, step.dim, number)
        case Permute(_, to):
            if partial:
                raise ProgramError(number, f"{step.operand} is partial along {tuple(partial)}: add it up first")
            _same_blocks(layout, to, partial, mesh, number)
            layout = list(to)
    for dim, (size, cuts) in enumerate(zip(state.shapes[step.operand], layout, strict=True)):
        if size % mesh.size_of(cuts):
            raise ProgramError(number, f"dimension {dim} of size {size} cannot be cut along {cuts}")
    layouts = {**state.layouts, step.operand: tuple(layout)}
    return replace(state, layouts=layouts, partial=tuple(partial) if step.operand == "c" else state.partial)


def _dot(state: State, number: int) -> State:
    if set(state.layouts) != {"a", "b"}:
        raise ProgramError(number, "there is one dot in a program, of a and b")
    (rows, inner), (inner_too, columns) = state.layouts["a"], state.layouts["b"]
    if inner != inner_too:
        raise ProgramError(number, f"a's columns are cut along {inner}, b's rows along {inner_too}: not alike")
    if set(rows) & set(columns):
        raise ProgramError(number, f"a's rows {rows} and b's columns {columns} are cut along the same axis")
    shape = (state.shapes["a"][0], state.shapes["b"][1])
    return State({"c": shape}, {"c": (rows, columns)}, inner)


def _check_dim(layout: list[tuple[str, ...]], dim: int, number: int) -> None:
    if not 0 <= dim < len(layout):
        raise ProgramError(number, f"there is no dimension {dim}")


def _take(layout: list[tuple[str, ...]], axes: tuple[str, ...], dim: int, number: int) -> None:
    _check_dim(layout, dim, number)
    if layout[dim][len(layout[dim]) - len(axes) :] != axes:
        raise ProgramError(number, f"dimension {dim} is cut along {layout[dim]}, which does not end in {axes}")
    layout[dim] = layout[dim][: len(layout[dim]) - len(axes)]


def _put(layout: list[tuple[str, ...]], axes: tuple[str, ...], dim: int, number: int) -> None:
    _check_dim(layout, dim, number)
    layout[dim] += axes


def _new(
    axes: tuple[str, ...], layout: Sequence[tuple[str, ...]], partial: list[str], mesh: Mesh, number: int
) -> None:
    for axis in axes:
        if axis not in mesh.axis_names:
            raise ProgramError(number, f"{mesh} has no axis {axis!r}")
        if axis in partial or any(axis in cuts for cuts in layout):
            raise ProgramError(number, f"the operand is cut or partial along {axis!r} already")


def _same_blocks(layout: list[tuple[str, ...]], to: Layout, partial: list[str], mesh: Mesh, number: int) -> None:
    if len(to) != len(layout):
        raise ProgramError(number, f"{to} has not one entry for each dimension")
    axes = tuple(axis for cuts in to for axis in cuts)
    _new(axes, [], partial, mesh, number)
    if len(set(axes)) < len(axes):
        raise ProgramError(number, f"an axis occurs twice in {to}")
    if [mesh.size_of(cuts) for cuts in to] != [mesh.size_of(cuts) for cuts in layout]:
        raise ProgramError(number, f"blocks of {to} have not the shape of those of {tuple(layout)}")


def check_program(program: Program, state: State, mesh: Mesh, goal: Layout) -> State:
    """Apply all steps; the operand that is left must have the layout `goal` and not be partial.

    Returns the last state. Raises ProgramError for the first step that is not allowed, or for the end.
    """
    for number, step in enumerate(program):
        state = apply(step, state, mesh, number)
    if set(state.layouts) == {"a", "b"}:
        raise ProgramError(len(program), "there is no dot")
    (layout,) = state.layouts.values()
    if state.partial:
        raise ProgramError(len(program), f"the sums along {state.partial} are never added up")
    if layout != goal:
        raise ProgramError(len(program), f"the result is cut as {layout}, not as {goal}")
    return state


def in_words(step: Step) -> str:
    """A step in words, such as "all_gather b along x, dimension 0: 24 MiB a device"."""
    match step:
        case Dot():
            return "dot of the local blocks"
        case Slice(operand, axes, dim):
            return f"slice {operand} along {','.join(axes)}, dimension {dim}: free"
        case AllGather(operand, axes, dim):
            text = f"all_gather {operand} along {','.join(axes)}, dimension {dim}"
        case AllReduce(operand, axes):
            text = f"all_reduce {operand} along {','.join(axes)}"
        case ReduceScatter(operand, axes, dim):
            text = f"reduce_scatter {operand} along {','.join(axes)}, dimension {dim}"
        case AllToAll(operand, axes, from_dim, to_dim):
            text = f"all_to_all {operand} along {','.join(axes)}, dimension {from_dim} to {to_dim}"
        case Permute(operand, to):
            text = f"collective_permute {operand} to {[','.join(cuts) for cuts in to]}"
    return f"{text}: {step.bytes / 2**20:g} MiB a device"


def permute_pairs(before: Layout, after: Layout, mesh: Mesh) -> list[tuple[int, int]]:
    """For a permute between two layouts with blocks of one shape: who sends its block to whom, (source, target).

    Devices are numbered twice, by (block, copy) before and after; equal numbers make a pair.
    """

    def number(device: int, layout: Layout) -> tuple[int, ...]:
        named = [axis for axes in layout for axis in axes]
        unnamed = [axis for axis in mesh.axis_names if axis not in named]
        return (*(mesh.position(device, axes) for axes in layout), mesh.position(device, unnamed))

    holder = {number(device, before): device for device in range(mesh.size)}
    return sorted((holder[number(device, after)], device) for device in range(mesh.size))
