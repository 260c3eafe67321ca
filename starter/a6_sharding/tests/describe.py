"""Between plain data and the objects of `minispmd`. Runs beside the student's code; no secret in it.

The forms, as `judge.py` declares them: a mesh is a list of [name, size]; a spec is a list of None, a name or a
list of names; a log is, for each device, a list of ["send", to, array] and ["recv", from]; a step of a program is
a list that starts with its kind.
"""


def mesh(sizes):
    """A mesh from a list of [name, size]."""
    from minispmd.mesh import Mesh

    return Mesh(**dict(sizes))


def spec(entries):
    """A partition spec from data."""
    from minispmd.spec import PartitionSpec

    return PartitionSpec(*(tuple(entry) if isinstance(entry, list) else entry for entry in entries))


def layout(cuts):
    """A layout from data, or a layout as data: a tuple of tuples of axes."""
    return tuple(tuple(str(axis) for axis in axes) for axes in cuts)


def log(fabric):
    """What every device of a fabric sent and received in the last run."""
    events = []
    for device, happened in enumerate(fabric.log):
        payloads = iter(fabric.payloads[device])
        events.append(
            [
                ["send", event.to, next(payloads)] if hasattr(event, "to") else ["recv", event.source]
                for event in happened
            ]
        )
    return events


def run(sizes, program, *arguments, wrap=True):
    """Run a device program on a fresh fabric; outputs, log and the first argument after the run as data."""
    import numpy as np
    from minispmd.fabric import Fabric

    fabric = Fabric(mesh(sizes), wrap)
    outputs = fabric.run(program, *arguments)
    return {"outputs": [np.asarray(output) for output in outputs], "log": log(fabric), "inputs": arguments[0]}


def step(item):
    """A step of a program as data."""
    kind = type(item).__name__
    if kind == "Dot":
        return [kind]
    if kind == "Permute":
        return [kind, item.operand, [list(axes) for axes in item.to], int(item.bytes)]
    if kind == "AllToAll":
        return [kind, item.operand, list(item.axes), int(item.from_dim), int(item.to_dim), int(item.bytes)]
    if kind == "AllReduce":
        return [kind, item.operand, list(item.axes), int(item.bytes)]
    if kind == "Slice":
        return [kind, item.operand, list(item.axes), int(item.dim)]
    return [kind, item.operand, list(item.axes), int(item.dim), int(item.bytes)]


def read_step(item):
    """A step of a program from data."""
    from minispmd import program

    kind, *rest = item
    if kind == "Permute":
        rest[1] = layout(rest[1])
    elif kind != "Dot":
        rest[1] = tuple(rest[1])
    return getattr(program, kind)(*rest)


def graph(shapes, ops):
    """A graph from data: shapes of all values, and operations as [kind, operands, result, parameters…]."""
    from minispmd import graph as given

    def tuples(value):
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    made = [
        getattr(given, kind)(tuples(operands), result, *map(tuples, rest)) for kind, operands, result, *rest in ops
    ]
    return given.Graph(tuples(shapes), tuple(made))


def annotations(plain):
    """Annotations from data: a list of [value, [[axes, open, priority], …]]."""
    from minispmd.graph import DimSharding

    return {
        value: tuple(DimSharding(tuple(axes), is_open, priority) for axes, is_open, priority in dims)
        for value, dims in plain
    }


def propagated(result):
    """The outcome of a propagation as data."""
    return {
        "layouts": [[[str(axis) for axis in axes] for axes in value] for value in result.layouts],
        "decisions": [[int(d.op), int(d.value), int(d.dim), str(d.axis)] for d in result.decisions],
        "conflicts": [[int(c.op), [[int(v), int(d)] for v, d in c.places]] for c in result.conflicts],
    }


def action(item):
    """An action of a schedule as data."""
    kind = type(item).__name__
    if kind == "Receive":
        return [kind, int(item.source)]
    block = [[int(edge) for edge in item.rows], [int(edge) for edge in item.columns]]
    return [kind, int(item.to), *block] if kind == "SendBlock" else [kind, *block]
