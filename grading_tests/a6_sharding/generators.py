"""Hard inputs for `minispmd`: meshes, specs that fit, groups in odd orders. All of it is plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

NAMES = ["x", "y", "z"]
DTYPES = ["int32", "int64", "float32", "float64"]

rings = st.integers(2, 8)
seeds = st.integers(0, 2**31)


@st.composite
def meshes(draw: Any, most: int = 8, axes: int = 3) -> list[list[Any]]:
    """A mesh as a list of [name, size], of at most `most` devices, names in any order."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, axes))]
    sizes: list[list[Any]] = []
    for name in names:
        room = most // math.prod(size for _, size in sizes)
        if room >= 2:
            sizes.append([name, draw(st.integers(2, min(room, 4)))])
    return sizes


@st.composite
def specs(draw: Any, mesh: list[list[Any]], rank: int) -> list[Any]:
    """A spec for arrays of this rank: some axes of the mesh, dealt to the dimensions, written in any form."""
    names = draw(st.permutations([name for name, _ in mesh]))
    names = names[: draw(st.integers(0, len(names)))]
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in names:
        if rank:
            dims[draw(st.integers(0, rank - 1))].append(name)
    entries: list[Any] = []
    for axes in dims:
        if not axes:
            entries.append(draw(st.sampled_from([None, []])))
        elif len(axes) == 1:
            entries.append(draw(st.sampled_from([axes[0], axes])))
        else:
            entries.append(axes)
    while entries and not entries[-1] and draw(st.booleans()):
        entries.pop()
    return entries


def axes_of(entries: list[Any], rank: int) -> list[list[str]]:
    """For each dimension, the axes that a spec cuts it along."""
    cuts = [[entry] if isinstance(entry, str) else list(entry or []) for entry in entries]
    return cuts + [[] for _ in range(rank - len(cuts))]


@st.composite
def placements(draw: Any, most: int = 8, ranks: tuple[int, int] = (1, 3)) -> dict[str, Any]:
    """A mesh, a spec, and a global shape that it divides."""
    mesh = draw(meshes(most))
    rank = draw(st.integers(*ranks))
    spec = draw(specs(mesh, rank))
    sizes = dict(mesh)
    cuts = axes_of(spec, rank)
    shape = [math.prod(sizes[axis] for axis in axes) * draw(st.integers(1, 3)) for axes in cuts]
    return {"mesh": mesh, "spec": spec, "shape": shape}


def random_mesh(rng: np.random.Generator, axes: int) -> list[list[Any]]:
    """A mesh with this many axes, of at most 8 devices."""
    shapes = {1: [(2,), (4,), (8,)], 2: [(2, 2), (4, 2), (2, 4), (2, 3)], 3: [(2, 2, 2)]}[axes]
    names = [str(name) for name in rng.permutation(NAMES)]
    return [[name, size] for name, size in zip(names, shapes[rng.integers(len(shapes))], strict=False)]


def random_spec(rng: np.random.Generator, mesh: list[list[Any]], rank: int) -> list[Any]:
    """A spec with some axes of the mesh, dealt to the dimensions."""
    names = [str(name) for name in rng.permutation([name for name, _ in mesh])]
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in names[: rng.integers(0, len(names) + 1)]:
        dims[rng.integers(rank)].append(name)
    return [None if not axes else axes[0] if len(axes) == 1 else axes for axes in dims]


def random_matmul(rng: np.random.Generator, axes: int = 2) -> dict[str, Any]:
    """A mesh, specs of a, b and c, and a shape (m, k, n) that all of them divide, of any proportions."""
    mesh = random_mesh(rng, axes)
    devices = math.prod(size for _, size in mesh)
    shape = [devices * int(size) for size in rng.choice([1, 2, 4, 16, 64], size=3)]
    return {"mesh": mesh, "specs": [random_spec(rng, mesh, 2) for _ in range(3)], "shape": shape}


def random_reshard(rng: np.random.Generator, axes: int = 2) -> dict[str, Any]:
    """A mesh, two specs and a shape that both divide."""
    mesh = random_mesh(rng, axes)
    devices = math.prod(size for _, size in mesh)
    rank = int(rng.integers(1, 4))
    return {
        "mesh": mesh,
        "specs": [random_spec(rng, mesh, rank) for _ in range(2)],
        "shape": [devices * int(size) for size in rng.integers(1, 4, size=rank)],
    }


def distinct(rng: np.random.Generator, count: int, shape: list[int], dtype: str) -> list[np.ndarray]:
    """`count` arrays of one shape whose numbers all differ and are exact in the dtype."""
    size = math.prod(shape)
    numbers = 1000 + rng.permutation(count * size + 7)[: count * size]
    return [part.reshape(shape).astype(dtype) for part in numbers.reshape(count, size)]


def terms(rng: np.random.Generator, count: int, shape: list[int], dtype: str = "int64") -> list[np.ndarray]:
    """`count` arrays of one shape of random integers of 40 bits, exact in int64 and float64."""
    return [rng.integers(1 << 39, 1 << 40, size=shape).astype(dtype) for _ in range(count)]


def coordinates(mesh: list[list[Any]], device: int) -> dict[str, int]:
    """A device's coordinates; the first axis is slowest."""
    found = {}
    for name, size in reversed(mesh):
        device, found[name] = divmod(device, size)
    return found


def position(mesh: list[list[Any]], device: int, axes: list[str]) -> int:
    """A device's number along some axes, the first one slowest."""
    sizes, here, number = dict(mesh), coordinates(mesh, device), 0
    for axis in axes:
        number = number * sizes[axis] + here[axis]
    return number


def groups(mesh: list[list[Any]], axes: list[str]) -> list[list[int]]:
    """The groups along some axes, each ordered by position, by their smallest device."""
    found: dict[tuple[int, ...], list[int]] = {}
    rest = [name for name, _ in mesh if name not in axes]
    for device in range(math.prod(size for _, size in mesh)):
        found.setdefault(tuple(coordinates(mesh, device)[name] for name in rest), []).append(device)
    ordered = [sorted(group, key=lambda device: position(mesh, device, axes)) for group in found.values()]
    return sorted(ordered, key=min)
