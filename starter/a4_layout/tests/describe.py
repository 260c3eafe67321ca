"""Turns layouts, operations and graphs of `tiledlayout` into plain data and back. Runs beside the student's code;
no secret in it.

A layout is a dict of the fields of `ArrayLayout`, those at their default left out or not. An operation is
`[name, numbers]`, such as `["transpose", [1, 0]]`.
"""


def layout(fields):
    """An `ArrayLayout` from its fields."""
    from tiledlayout import ArrayLayout

    values = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    values["tiles"] = tuple(tuple(tile) for tile in fields.get("tiles", []))
    return ArrayLayout(**values)


def tree(data):
    """A layout from its fields, or a `TupleLayout` from a list."""
    from tiledlayout import TupleLayout

    return TupleLayout(tuple(map(tree, data))) if isinstance(data, list) else layout(data)


def fields(shape):
    """The fields of a layout, all of them; of a tuple, the list of its elements' fields."""
    elements = getattr(shape, "elements", None)
    if isinstance(elements, tuple):
        return [fields(element) for element in elements]
    return {
        "dtype": str(shape.dtype),
        "dims": [int(size) for size in shape.dims],
        "minor_to_major": [int(dim) for dim in shape.minor_to_major],
        "tiles": [[entry if entry == "*" else int(entry) for entry in tile] for tile in shape.tiles],
        "tail_alignment": int(shape.tail_alignment),
        "element_bits": int(shape.element_bits),
        "memory_space": int(shape.memory_space),
    }


def operation(data):
    """An operation from its name and numbers."""
    import tiledlayout

    name, numbers = data
    return getattr(tiledlayout, name.capitalize())(tuple(numbers))


def cost(value):
    """A `Cost` as three numbers."""
    return [int(value.bytes_read), int(value.bytes_written), int(value.registers_shuffled)]


def graph(data):
    """A `Graph` from a list of `[name, operands, choices]`, a choice being `[wanted layouts, made layout]`."""
    from tiledlayout import Choice, Graph, Node

    nodes = []
    for name, operands, choices in data:
        made = [Choice(tuple(map(layout, wanted)), layout(result)) for wanted, result in choices]
        nodes.append(Node(name, tuple(operands), tuple(made)))
    return Graph(tuple(nodes))


def array(codes, fields):
    """An array of the layout's dtype and shape whose elements have these bits, one code for each.

    Above a negative s2 or s4, all bits of the byte are set: NumPy's arithmetic leaves them so.
    """
    import numpy as np

    here = layout(fields)
    if here.dtype in ("s2", "s4"):
        sign = np.uint8(1 << (here.type.bits - 1))
        codes = np.where(codes & sign, codes | ~(2 * sign - np.uint8(1)), codes)
    return np.frombuffer(bytearray(codes.tobytes()), here.type.numpy).reshape(here.dims)


def codes(values):
    """The bits of an array's elements: bytes, in row-major order, without what NumPy keeps above a small type."""
    import numpy as np

    array = np.ascontiguousarray(values)
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}.get(array.dtype.name)
    return array.tobytes() if bits is None else (array.view(np.uint8) & (2**bits - 1)).tobytes()
