"""Writes `golden_jax.json`: what JAX does on eight CPU devices.

Run by hand where JAX is installed: `python grading_tests/a6_sharding/hidden/generate_golden_jax.py`. It holds

- indices: the blocks of every device for random specs, from NamedSharding;
- collectives: outputs of collectives inside jax.shard_map, on meshes of one to three axes;
- matmuls: the collectives that XLA's CPU compiler puts around a matmul of 1024 × 1024 matrices, and their bytes.
"""

from __future__ import annotations

import json
import os
import re
from itertools import product
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MESHES: list[list[list[Any]]] = [
    [["x", 8]],
    [["x", 4], ["y", 2]],
    [["y", 2], ["x", 4]],
    [["x", 2], ["y", 2], ["z", 2]],
]


def jax_mesh(sizes: list[list[Any]]) -> Mesh:
    """The mesh of JAX's devices in order."""
    return Mesh(np.array(jax.devices()).reshape([size for _, size in sizes]), [name for name, _ in sizes])


def jax_spec(entries: list[Any]) -> P:
    """A spec from data."""
    return P(*(tuple(entry) if isinstance(entry, list) else entry for entry in entries))


def random_spec(rng: np.random.Generator, sizes: list[list[Any]], rank: int) -> list[Any]:
    """Some axes of the mesh, dealt to the dimensions."""
    names = [str(name) for name in rng.permutation([name for name, _ in sizes])]
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in names[: rng.integers(0, len(names) + 1)]:
        dims[rng.integers(rank)].append(name)
    return [None if not axes else axes[0] if len(axes) == 1 else axes for axes in dims]


def indices(rng: np.random.Generator) -> dict[str, Any]:
    """A random spec and the blocks of every device."""
    sizes = MESHES[rng.integers(len(MESHES))]
    rank = int(rng.integers(1, 4))
    shape = [8 * int(rng.integers(1, 4)) for _ in range(rank)]
    spec = random_spec(rng, sizes, rank)
    sharding = NamedSharding(jax_mesh(sizes), jax_spec(spec))
    found = sharding.devices_indices_map(tuple(shape))
    rows = [
        [list(piece.indices(size)[:2]) for piece, size in zip(found[device], shape, strict=True)]
        for device in jax.devices()
    ]
    return {
        "mesh": sizes,
        "spec": spec,
        "shape": shape,
        "indices": rows,
        "local": list(sharding.shard_shape(tuple(shape))),
    }


def call(kind: str, axes: Any, groups: Any, options: dict[str, Any]) -> Any:
    """A collective of one array, by the names of minispmd's options."""
    keyword = {"axis_index_groups": groups} if groups else {}
    match kind:
        case "psum":
            return lambda x: lax.psum(x, axes, **keyword)
        case "all_gather":
            return lambda x: lax.all_gather(x, axes, axis=options["dim"], tiled=True, **keyword)
        case "psum_scatter":
            return lambda x: lax.psum_scatter(x, axes, scatter_dimension=options["dim"], tiled=True, **keyword)
        case "all_to_all":
            split, concat = options["split_dim"], options["concat_dim"]
            return lambda x: lax.all_to_all(x, axes, split, concat, tiled=True, **keyword)
        case "ppermute":
            return lambda x: lax.ppermute(x, axes, options["perm"])
    raise ValueError(kind)


def collective(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """A collective along some axes: every device's input and output."""
    kind = ["psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"][number % 5]
    sizes = MESHES[rng.integers(len(MESHES))]
    names = [str(name) for name in rng.permutation([name for name, _ in sizes])]
    axes = names[: rng.integers(1, len(names) + 1)]
    if kind == "ppermute":  # JAX numbers positions along several axes in the mesh's order here, and only here
        axes = [name for name, _ in sizes if name in axes]
    n = int(np.prod([dict(sizes)[axis] for axis in axes]))
    options: dict[str, Any] = {
        "psum": {},
        "all_gather": {"dim": int(rng.integers(2))},
        "psum_scatter": {"dim": int(rng.integers(2))},
        "all_to_all": {"split_dim": number // 5 % 2, "concat_dim": int(rng.integers(2))},
        "ppermute": {"perm": list(zip(map(int, rng.permutation(n)), map(int, rng.permutation(n)), strict=True))},
    }[kind]
    if kind == "ppermute":
        options["perm"] = options["perm"][: int(rng.integers(1, n + 1))]
    groups = None
    if kind != "ppermute" and len(axes) == 1 and n % 2 == 0 and rng.integers(2):
        order = [int(place) for place in rng.permutation(n)]
        groups = [order[: n // 2], order[n // 2 :]] if n > 2 else [order]
    blocks = [rng.integers(0, 1000, size=(8, 8)).astype(np.int32) for _ in range(8)]
    every = tuple(name for name, _ in sizes)
    along = tuple(axes) if len(axes) > 1 else axes[0]
    mapped = jax.shard_map(
        call(kind, along, groups, options),
        mesh=jax_mesh(sizes),
        in_specs=P(every),
        out_specs=P(every),
        check_vma=False,
    )
    out = np.asarray(jax.jit(mapped)(np.concatenate(blocks)))
    return {
        "kind": kind,
        "mesh": sizes,
        "axes": axes,
        "groups": groups,
        "options": options,
        "inputs": [block.tolist() for block in blocks],
        "outputs": [block.tolist() for block in np.split(out, 8)],
    }


COLLECTIVE = re.compile(
    r"= (?P<result>.+?) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)\("
)
ARRAY = re.compile(r"f32\[([\d,]*)\]")


def hlo_collectives(text: str, sizes: dict[str, int]) -> list[list[Any]]:
    """[kind, devices in a group, bytes of the result] of every collective in a compiled module."""
    found = []
    for line in text.splitlines():
        match = COLLECTIVE.search(line)
        if not match:
            continue
        nbytes = sum(
            4 * int(np.prod([int(d) for d in dims.split(",") if d])) for dims in ARRAY.findall(match["result"])
        )
        n = 8
        braced = re.search(r"replica_groups=mesh\[(.*?)\] \{(.*?)\}", line)
        listed = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
        counted = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
        if braced:
            axis_sizes = dict(re.findall(r"'(\w+)'=(\d+)", braced[1]))
            n = int(np.prod([int(axis_sizes[name]) for name in re.findall(r"'(\w+)'", braced[2])]))
        elif listed:
            n = len(listed[1].split(","))
        elif counted:
            n = int(counted[2])
        found.append([match["kind"], n, nbytes])
    return found


def sent(kind: str, n: int, nbytes: int) -> int:
    """Bytes that each device sends, from the bytes of the result."""
    match kind:
        case "all-reduce":
            return 2 * (n - 1) * nbytes // n
        case "all-gather" | "all-to-all":
            return (n - 1) * nbytes // n
        case "reduce-scatter":
            return (n - 1) * nbytes
    return nbytes


def matmuls() -> list[dict[str, Any]]:
    """What XLA does for c = a @ b with 1024 × 1024 matrices, for many specs on X=4, Y=2."""
    sizes = [["X", 4], ["Y", 2]]
    mesh = jax_mesh(sizes)
    cuts = [[None, None], ["X", None], [None, "X"], ["X", "Y"], ["Y", None]]
    a = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
    cases = []
    for a_spec, b_spec, out_spec in product(cuts, repeat=3):
        named = [NamedSharding(mesh, jax_spec(spec)) for spec in (a_spec, b_spec, out_spec)]
        compiled = (
            jax.jit(lambda a, b: a @ b, in_shardings=named[:2], out_shardings=named[2]).lower(a, a).compile()
        )
        found = hlo_collectives(compiled.as_text(), dict(sizes))
        total = sum(sent(*item) for item in found)
        cases.append({"specs": [a_spec, b_spec, out_spec], "collectives": found, "bytes": total})
    return cases


if __name__ == "__main__":
    generator = np.random.default_rng(20260223)
    golden = {
        "jax": jax.__version__,
        "indices": [indices(generator) for _ in range(40)],
        "collectives": [collective(generator, number) for number in range(40)],
        "matmuls": matmuls(),
    }
    Path(__file__).with_name("golden_jax.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
