"""Jaxprs as data: a small way to write them, random ones, and NumPy's answer to each.

The form is `lower_jaxpr.lower`'s: `{"name", "invars", "eqns", "outvars"}`, a variable
`{"name", "shape", "dtype"}`, an input `{"var": name}` or `{"literal": value, "shape": [...], "dtype": name}`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

FUNCTIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "eq": np.equal,
    "gt": np.greater,
    "dot": np.matmul,
    "select": np.where,
}


class Writer:
    """Writes a jaxpr; shapes and dtypes of results are NumPy's."""

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self.invars: list[dict[str, Any]] = []
        self.eqns: list[dict[str, Any]] = []
        self.samples: dict[str, np.ndarray] = {}

    def input(self, dtype: str, *shape: int) -> str:
        """The next input."""
        name = f"x{len(self.invars)}"
        self.invars.append({"name": name, "shape": list(shape), "dtype": dtype})
        self.samples[name] = np.ones(shape, dtype)
        return name

    def eqn(self, primitive: str, *operands: Any, **params: Any) -> str:
        """An equation; operands are variables' names, numbers (of the first variable's dtype) or arrays."""
        dtype = next(self.samples[item].dtype for item in reversed(operands) if isinstance(item, str))
        inputs = [self._input(item, dtype) for item in operands]
        arrays = [self.samples[i["var"]] if "var" in i else np.array(i["literal"], i["dtype"]) for i in inputs]
        result = apply(primitive, arrays, params)
        name = f"y{len(self.eqns)}"
        self.samples[name] = result
        output = {"name": name, "shape": list(result.shape), "dtype": result.dtype.name}
        self.eqns.append({"primitive": primitive, "inputs": inputs, "params": params, "output": output})
        return name

    @staticmethod
    def _input(item: Any, dtype: np.dtype) -> dict[str, Any]:
        if isinstance(item, str):
            return {"var": item}
        array = np.asarray(item, item.dtype if isinstance(item, np.ndarray) else dtype)
        return {"literal": array.tolist(), "shape": list(array.shape), "dtype": array.dtype.name}

    def jaxpr(self, *outputs: str) -> dict[str, Any]:
        """The whole jaxpr."""
        outvars = [{"var": name} for name in outputs]
        return {"name": self.name, "invars": self.invars, "eqns": self.eqns, "outvars": outvars}


def apply(primitive: str, operands: list[np.ndarray], params: dict[str, Any]) -> np.ndarray:
    """NumPy's result of one primitive."""
    (x, *_) = operands
    with np.errstate(all="ignore"):
        if primitive in FUNCTIONS:
            return np.asarray(FUNCTIONS[primitive](*operands))
        if primitive == "transpose":
            return np.transpose(x, params["permutation"])
        if primitive == "reshape":
            return np.reshape(x, params["shape"])
        if primitive == "convert":
            return x.astype(params["dtype"])
        if primitive == "broadcast":
            aligned = np.ones(len(params["shape"]), int)
            aligned[list(params["broadcast_dimensions"])] = x.shape
            return np.broadcast_to(np.reshape(x, aligned), params["shape"])
        axis = tuple(params["axis"]) if isinstance(params["axis"], list) else params["axis"]
        if primitive == "reduce_max":
            return np.asarray(np.max(x, axis=axis, keepdims=params["keepdims"]))
        return np.asarray(np.sum(x, axis=axis, keepdims=params["keepdims"], dtype=x.dtype))


def run(jaxpr: dict[str, Any], arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The jaxpr's outputs, equation by equation."""
    values = {var["name"]: value for var, value in zip(jaxpr["invars"], arguments, strict=True)}

    def value(item: dict[str, Any]) -> np.ndarray:
        return values[item["var"]] if "var" in item else np.array(item["literal"], item["dtype"])

    for equation in jaxpr["eqns"]:
        operands = [value(item) for item in equation["inputs"]]
        values[equation["output"]["name"]] = apply(equation["primitive"], operands, equation["params"])
    return [value(item) for item in jaxpr["outvars"]]


@st.composite
def random_jaxprs(draw: Any, most: int = 10) -> dict[str, Any]:
    """A random program on f32 arrays whose shapes broadcast against one another."""
    write = Writer("random")
    rows, columns = draw(st.sampled_from([(3, 4), (2, 5), (4, 1)]))
    values = [write.input("float32", rows, columns), write.input("float32", columns), write.input("float32")]
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["binary", "binary", "unary", "literal", "reduce", "select", "move"]))
        x, y = draw(st.sampled_from(values[-4:])), draw(st.sampled_from(values[-4:]))
        shape = write.samples[x].shape
        fits = _broadcasts(shape, write.samples[y].shape)
        if kind == "binary" and fits:
            values.append(write.eqn(draw(st.sampled_from(["add", "sub", "mul", "div"])), x, y))
        elif kind == "literal":
            number = draw(st.sampled_from([0.5, -2.0, 3.0]))
            pair = (number, x) if draw(st.booleans()) else (x, number)
            values.append(write.eqn(draw(st.sampled_from(["add", "sub", "mul"])), *pair))
        elif kind == "reduce" and shape:
            axes = [None, -1, 0, list(range(len(shape)))]
            params = {"axis": draw(st.sampled_from(axes)), "keepdims": draw(st.booleans())}
            values.append(write.eqn(draw(st.sampled_from(["reduce_sum", "reduce_max"])), x, **params))
        elif kind == "select" and fits:
            values.append(write.eqn("select", write.eqn(draw(st.sampled_from(["gt", "eq"])), x, y), x, y))
        elif kind == "move" and len(shape) == 2:
            values.append(
                write.eqn("transpose", write.eqn("transpose", x, permutation=[1, 0]), permutation=[1, 0])
            )
        else:
            values.append(write.eqn(draw(st.sampled_from(["neg", "exp", "tanh", "sin", "cos"])), x))
    return write.jaxpr(*dict.fromkeys(values[-1 - draw(st.integers(0, 1)) :]))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True
