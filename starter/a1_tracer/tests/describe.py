"""Turns a jaxpr of `minijax` into plain data. Runs beside the student's code; no secret in it.

The form, as `judge.py` declares it: variables are numbers in order of first appearance, a type is
`[shape, dtype name]`, an atom is `["var", number]` or `["lit", array]`.
"""


def jaxpr(program):
    """The jaxpr as data."""
    import numpy as np

    numbers = {}

    def kind(aval):
        return [[int(size) for size in aval.shape], np.dtype(aval.dtype).name]

    def variable(var):
        return [numbers.setdefault(id(var), len(numbers)), kind(var.aval)]

    def atom(item):
        if hasattr(item, "value"):
            return ["lit", np.asarray(item.value)]
        return ["var", numbers.setdefault(id(item), len(numbers))]

    constvars = [variable(var) for var in program.constvars]
    invars = [variable(var) for var in program.invars]
    eqns = []
    for eqn in program.eqns:
        operands = [atom(item) for item in eqn.invars]
        params = {name: plain(value) for name, value in eqn.params.items()}
        eqns.append([str(eqn.primitive), operands, params, variable(eqn.outvar)])
    return {
        "constvars": constvars,
        "consts": [np.asarray(value) for value in program.consts],
        "invars": invars,
        "eqns": eqns,
        "outvars": [atom(item) for item in program.outvars],
    }


def plain(value):
    """A parameter of an equation as data: tuples as lists, dtypes by name."""
    import numpy as np

    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (int, np.integer)):
        return int(value)
    return np.dtype(value).name


def leaves(tree):
    """A result of student code as data: arrays for arrays and numbers, lists and dicts for trees."""
    import numpy as np

    if isinstance(tree, (list, tuple)):
        return [leaves(item) for item in tree]
    if isinstance(tree, dict):
        return {key: leaves(item) for key, item in tree.items()}
    return None if tree is None else np.asarray(tree)


def types(tree):
    """A tree of `ShapedArray`s as data, each as `[shape, dtype name]`."""
    import numpy as np

    if isinstance(tree, (list, tuple)):
        return [types(item) for item in tree]
    if isinstance(tree, dict):
        return {key: types(item) for key, item in tree.items()}
    return {"shape": [int(size) for size in tree.shape], "dtype": np.dtype(tree.dtype).name}


def shaped(kind):
    """A `ShapedArray` of the student's package from `[shape, dtype name]`."""
    from minijax.core import ShapedArray

    return ShapedArray(tuple(kind[0]), kind[1])


def params(plain_params):
    """Parameters of an equation from data: lists become tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in plain_params.items()}
