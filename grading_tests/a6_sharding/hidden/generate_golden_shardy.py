"""Writes `golden_shardy.json`: what Shardy's passes do, from the JAX wheel.

Run by hand where JAX is installed: `python grading_tests/a6_sharding/hidden/generate_golden_shardy.py`. It holds

- reshards: random pairs of shardings, the collectives of `sdy-reshard-to-collectives`, and the bytes that each
  device sends in them. Cases that cut an axis into sub-axes are left out.
- rules: the factors of random operations, from `sdy-populate-op-sharding-rules`.
- graphs: random graphs with annotations, and the shardings of all values after propagation. Only graphs on which
  the basic, the aggressive and the op-priority strategy agree, and no two annotations contradict, are kept.
- priorities: the same with annotations of two priorities, from `sdy-user-priority-propagate`. Kept if each
  priority alone would be kept.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

CONTEXT = mlir.make_ir_context()
AXES = {"a": 2, "b": 2, "c": 2}
DIM = re.compile(r"\{([^}]*)\}(?:p\d+)?")
RESHARD = re.compile(
    r"sdy\.(all_gather|all_slice|all_to_all|collective_permute|reduce_scatter) (.*)out_sharding=<@mesh, (.*)>"
)


def run(text: str, passes: str) -> ir.Module:
    """The module after some passes."""
    with CONTEXT:
        module = ir.Module.parse(text)
        PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return module


def mesh_line(sizes: dict[str, int]) -> str:
    """The mesh's definition."""
    return "sdy.mesh @mesh = <[" + ", ".join(f'"{name}"={size}' for name, size in sizes.items()) + "]>\n"


def tensor(shape: list[int]) -> str:
    """A type."""
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


def dims_text(dims: list[Any]) -> str:
    """Dimension shardings [[axes, open, priority], …] as text."""
    words = []
    for axes, is_open, priority in dims:
        items = [f'"{axis}"' for axis in axes] + (["?"] if is_open else [])
        words.append("{" + ", ".join(items) + "}" + (f"p{priority}" if priority else ""))
    return "[" + ", ".join(words) + "]"


def read_dims(text: str) -> list[list[str]]:
    """The axes of each dimension in a sharding's text."""
    return [re.findall(r'"([^"]+)"', inner) for inner in DIM.findall(text)]


# Reshards.


def reshard(
    sizes: dict[str, int], shape: list[int], src: list[list[str]], dst: list[list[str]]
) -> dict[str, Any] | None:
    """Shardy's collectives from one layout to another, and their bytes; None if sub-axes occur."""
    closed = [dims_text([[axes, False, 0] for axes in cuts]) for cuts in (src, dst)]
    kind = tensor(shape)
    text = (
        f"{mesh_line(sizes)}func.func @main(%x: {kind} {{sdy.sharding = #sdy.sharding<@mesh, {closed[0]}>}}) "
        f"-> {kind} {{\n"
        f"  %0 = sdy.reshard %x <@mesh, {closed[1]}> : {kind}\n  return %0 : {kind}\n}}\n"
    )
    out = str(run(text, "func.func(sdy-reshard-to-collectives)"))
    if '":(' in out:
        return None
    layout, steps, total = src, [], 0
    for line in out.splitlines():
        match = RESHARD.search(line)
        if not match:
            continue
        name, what, after = match.groups()
        cuts = math.prod(sizes[axis] for axes in layout for axis in axes)
        block = math.prod(shape) // cuts * 4
        n = (
            math.prod(sizes[axis] for axis in re.findall(r'"([^"]+)"', what))
            if name != "collective_permute"
            else 1
        )
        share = {"all_gather": n - 1, "all_to_all": (n - 1) / n, "collective_permute": 1}.get(name, 0)
        total += int(share * block)
        layout = read_dims(after)
        steps.append([name, layout])
    assert layout == dst or not steps, out
    entries = [[None if not axes else axes[0] if len(axes) == 1 else axes for axes in cuts] for cuts in (src, dst)]
    return {
        "mesh": [list(item) for item in sizes.items()],
        "specs": entries,
        "shape": shape,
        "steps": steps,
        "bytes": total,
    }


def random_layout(rng: np.random.Generator, names: list[str], rank: int) -> list[list[str]]:
    """Some axes, dealt to the dimensions."""
    order = [str(name) for name in rng.permutation(names)]
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in order[: rng.integers(0, len(order) + 1)]:
        dims[rng.integers(rank)].append(name)
    return dims


def reshards(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Random cases."""
    found: list[dict[str, Any]] = []
    meshes = [{"x": 2, "y": 2}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}]
    while len(found) < 40:
        sizes = meshes[rng.integers(len(meshes))]
        rank = int(rng.integers(1, 4))
        shape = [8 * int(rng.integers(1, 4)) for _ in range(rank)]
        src, dst = (random_layout(rng, list(sizes), rank) for _ in range(2))
        case = reshard(sizes, shape, src, dst) if src != dst else None
        if case:
            found.append(case)
    return found


# Graphs.


def random_graph(rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Shapes of all values, and operations [kind, operands, result, parameters…]."""
    shapes: list[list[int]] = [
        [int(s) for s in rng.choice([8, 16, 32], size=rng.integers(1, 4))] for _ in range(2)
    ]
    ops: list[list[Any]] = []

    def add(kind: str, operands: list[int], shape: list[int], *rest: Any) -> None:
        shapes.append(shape)
        ops.append([kind, operands, len(shapes) - 1, *rest])

    def fresh(shape: list[int]) -> int:
        shapes.append(shape)
        return len(shapes) - 1

    while len(ops) < count:
        x = int(rng.integers(len(shapes))) if rng.integers(3) else len(shapes) - 1
        shape, rank = shapes[x], len(shapes[x])
        match rng.choice(["elementwise", "dot", "batched", "reduce", "transpose", "merge", "split", "broadcast"]):
            case "elementwise":
                same = [value for value, other in enumerate(shapes) if other == shape and value != x]
                other = int(rng.choice(same)) if same and rng.integers(2) else fresh(list(shape))
                add("Elementwise", [x, other], list(shape))
            case "dot" if rank >= 1:
                dim = int(rng.integers(rank))
                y = fresh([shape[dim], int(rng.choice([8, 16]))])
                add(
                    "DotGeneral",
                    [x, y],
                    [s for d, s in enumerate(shape) if d != dim] + [shapes[y][1]],
                    [[dim], [0]],
                    [[], []],
                )
            case "batched" if rank == 3:
                y = fresh([shape[0], shape[2], 8])
                add("DotGeneral", [x, y], [shape[0], shape[1], 8], [[2], [1]], [[0], [0]])
            case "reduce" if rank >= 2:
                dim = int(rng.integers(rank))
                add("Reduce", [x], [s for d, s in enumerate(shape) if d != dim], [dim])
            case "transpose" if rank >= 2:
                order = [int(d) for d in rng.permutation(rank)]
                add("Transpose", [x], [shape[d] for d in order], order)
            case "merge" if rank >= 2:
                dim = int(rng.integers(rank - 1))
                add("Reshape", [x], [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]])
            case "split" if rank <= 3:
                dim = int(rng.integers(rank))
                if shape[dim] % 8 == 0:
                    add("Reshape", [x], [*shape[:dim], shape[dim] // 4, 4, *shape[dim + 1 :]])
            case "broadcast" if rank <= 2:
                dim = int(rng.integers(rank + 1))
                dims = [d for d in range(rank + 1) if d != dim]
                add("Broadcast", [x], [*shape[:dim], 8, *shape[dim:]], dims)
    return {"shapes": shapes, "ops": ops}


def op_text(op: list[Any], shapes: list[list[int]], attribute: str) -> str:
    """An operation in StableHLO."""
    kind, operands, result, *rest = op
    types = [tensor(shapes[value]) for value in operands]
    out, args = tensor(shapes[result]), ", ".join(f"%v{value}" for value in operands)
    match kind:
        case "Elementwise":
            return f"stablehlo.add {args} {attribute}: {out}"
        case "DotGeneral":
            contracting, batch = rest
            batching = f"batching_dims = {batch[0]} x {batch[1]}, " if batch[0] else ""
            dims = f"{batching}contracting_dims = {contracting[0]} x {contracting[1]}"
            return f"stablehlo.dot_general {args}, {dims} {attribute}: ({', '.join(types)}) -> {out}"
        case "Reduce":
            return (
                f"stablehlo.reduce({args} init: %zero) applies stablehlo.add across dimensions = {rest[0]} "
                f"{attribute}: ({types[0]}, tensor<f32>) -> {out}"
            )
        case "Transpose":
            return f"stablehlo.transpose {args}, dims = {rest[0]} {attribute}: ({types[0]}) -> {out}"
        case "Reshape":
            return f"stablehlo.reshape {args} {attribute}: ({types[0]}) -> {out}"
        case "Broadcast":
            return f"stablehlo.broadcast_in_dim {args}, dims = {rest[0]} {attribute}: ({types[0]}) -> {out}"
    raise ValueError(kind)


def module_text(graph: dict[str, Any], annotations: list[Any]) -> str:
    """A graph with annotations as a module; inputs are arguments."""
    shapes, ops = graph["shapes"], graph["ops"]
    said = {value: f"#sdy.sharding<@mesh, {dims_text(dims)}>" for value, dims in annotations}
    made = {op[2] for op in ops}
    arguments = []
    for value, shape in enumerate(shapes):
        if value not in made:
            attribute = f" {{sdy.sharding = {said[value]}}}" if value in said else ""
            arguments.append(f"%v{value}: {tensor(shape)}{attribute}")
    lines = ["  %zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    for op in ops:
        inner = said.get(op[2], "").replace("#sdy.sharding<", "<")
        attribute = f"{{sdy.sharding = #sdy.sharding_per_value<[{inner}]>}} " if inner else ""
        lines.append(f"  %v{op[2]} = {op_text(op, shapes, attribute)}")
    results = [op[2] for op in ops]  # all of them, or they would be dead
    types = ", ".join(tensor(shapes[value]) for value in results)
    lines.append(f"  return {', '.join(f'%v{value}' for value in results)} : {types}")
    head = f"{mesh_line(AXES)}func.func @main({', '.join(arguments)}) -> ({types}) {{"
    return "\n".join([head, *lines, "}", ""])


def layouts(module: ir.Module, graph: dict[str, Any]) -> list[list[list[str]]]:
    """The axes of every dimension of every value of a module."""
    made = {op[2] for op in graph["ops"]}
    inputs = [value for value in range(len(graph["shapes"])) if value not in made]
    found = {value: [[] for _ in shape] for value, shape in enumerate(graph["shapes"])}
    function = module.body.operations[1]
    for value, attributes in (
        zip(inputs, function.attributes["arg_attrs"], strict=True) if "arg_attrs" in function.attributes else ()
    ):
        if "sdy.sharding" in attributes:
            found[value] = read_dims(str(attributes["sdy.sharding"]).split("@mesh, ")[1])
    body = [
        op
        for op in function.regions[0].blocks[0].operations
        if op.operation.name not in ("func.return", "stablehlo.constant")
    ]
    for op, item in zip(graph["ops"], body, strict=True):
        if "sdy.sharding" in item.attributes:
            found[op[2]] = read_dims(str(item.attributes["sdy.sharding"]).split("@mesh, ")[1])
    return [found[value] for value in range(len(graph["shapes"]))]


def random_annotations(rng: np.random.Generator, graph: dict[str, Any], priorities: int) -> list[Any]:
    """Annotations of one to three values, open and closed."""
    found = []
    for value in sorted(rng.permutation(len(graph["shapes"]))[: rng.integers(1, 4)]):
        dims = random_layout(rng, list(AXES), len(graph["shapes"][value]))
        priority = int(rng.integers(priorities))
        fits = all(size % 2 ** len(axes) == 0 for size, axes in zip(graph["shapes"][value], dims, strict=True))
        if fits:
            opened = [bool(rng.integers(3)) for _ in dims]  # a closed dimension without axes has no priority
            marks = [priority if axes or is_open else 0 for axes, is_open in zip(dims, opened, strict=True)]
            found.append([int(value), [list(item) for item in zip(dims, opened, marks, strict=True)]])
    return found


def propagated(graph: dict[str, Any], annotations: list[Any], strategy: str) -> Any:
    """The layouts after a propagation pass; None if an axis was cut into sub-axes."""
    module = run(module_text(graph, annotations), f"sdy-{strategy}-propagate")
    return None if '":(' in str(module) else layouts(module, graph)


def undisputed(graph: dict[str, Any], annotations: list[Any]) -> Any:
    """The layouts on which three strategies agree; None if they do not, or if two annotations contradict.

    Two annotations contradict if each of them alone cuts some dimension, and neither as the other begins.
    """
    results = [propagated(graph, annotations, name) for name in ("basic", "aggressive", "op-priority")]
    if results[0] is None or results.count(results[0]) < 3:
        return None
    alone = [propagated(graph, [item], "basic") for item in annotations]
    if None in alone:
        return None
    for value, shape in enumerate(graph["shapes"]):
        for dim in range(len(shape)):
            cuts = sorted((result[value][dim] for result in alone), key=len)
            if any(cuts[-1][: len(axes)] != axes for axes in cuts):
                return None
    return results[0]


def graphs(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Random graphs on which the order does not matter, with at least three values cut by propagation."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        graph = random_graph(rng, int(rng.integers(2, 9)))
        annotations = random_annotations(rng, graph, 1)
        result = undisputed(graph, annotations)
        cut = [value for value, dims in enumerate(result or []) if any(dims)]
        if len(cut) >= len(annotations) + 2:
            found.append({**graph, "annotations": annotations, "layouts": result})
    return found


def prioritized(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Random graphs with two priorities."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        graph = random_graph(rng, int(rng.integers(2, 7)))
        annotations = random_annotations(rng, graph, 2)
        first = [item for item in annotations if all(priority == 0 for _, _, priority in item[1])]
        if len(first) in (0, len(annotations)):
            continue
        alone = [undisputed(graph, first), undisputed(graph, [i for i in annotations if i not in first])]
        result = propagated(graph, annotations, "user-priority")
        flat = [[value, [[axes, is_open, 0] for axes, is_open, _ in dims]] for value, dims in annotations]
        if None not in alone and result is not None and result != propagated(graph, flat, "user-priority"):
            found.append({**graph, "annotations": annotations, "layouts": result})
    return found


def rules(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """The factors of random operations: sizes, and for each tensor and dimension the factors."""
    found = []
    while len(found) < count:
        graph = random_graph(rng, 1)
        module = run(module_text(graph, []), "func.func(sdy-populate-op-sharding-rules)")
        (line,) = [line for line in str(module).splitlines() if "op_sharding_rule" in line]
        match = re.search(r"op_sharding_rule<\((.*?)\)->\((.*?)\) \{(.*?)\}", line)
        assert match
        sizes = {name: int(size) for name, size in re.findall(r"(\w+)=(\d+)", match[3])}
        names = list(sizes)
        tensors = []
        for text in re.findall(r"\[(.*?)\]", match[1] + match[2]):
            dims = [dim.strip() for dim in text.split(",")] if text.strip() else []
            tensors.append([[names.index(name) for name in re.findall(r"z_\d+|[a-z]", dim)] for dim in dims])
        if graph["ops"][0][0] == "Reduce":
            tensors.pop(1)  # the initial value
        found.append({**graph, "sizes": list(sizes.values()), "tensors": tensors})
    return found


if __name__ == "__main__":
    generator = np.random.default_rng(20260223)
    golden = {
        "axes": AXES,
        "reshards": reshards(generator),
        "rules": rules(generator, 40),
        "graphs": graphs(generator, 40),
        "priorities": prioritized(generator, 10),
    }
    Path(__file__).with_name("golden_shardy.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
