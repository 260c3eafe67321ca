"""minijax: trace Python functions into jaxprs, and transform them.

`minijax.grad` and the other public names are imported when first used (PEP 562). So
`import minijax` runs none of the files that are being written, and a mistake in one of
them is met only by whoever uses it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {
    "core": ("ShapedArray", "Var", "Literal", "Eqn", "Jaxpr", "check_jaxpr"),
    "errors": (
        "ShapeError",
        "DTypeError",
        "ConcretizationError",
        "LeakedTracerError",
        "StaticArgumentError",
        "GradientError",
        "BatchSizeError",
        "JaxprError",
    ),
    "pytree": ("tree_flatten", "tree_unflatten", "tree_map"),
    "trace": ("make_jaxpr", "eval_jaxpr", "eval_shape"),
    "numpy_api": (
        *("add", "subtract", "multiply", "divide", "negative"),
        *("exp", "log", "tanh", "sqrt", "sin", "cos", "abs", "softmax"),
        *("equal", "greater", "less", "where", "maximum", "minimum"),
        *("matmul", "dot", "transpose", "reshape", "expand_dims", "broadcast_to"),
        *("sum", "max", "mean", "astype", "zeros_like", "ones_like"),
    ),
    "autodiff": ("vjp", "grad", "value_and_grad"),
    "batching": ("vmap",),
    "jit": ("jit", "cache_stats", "cache_clear"),
    "bucketing": ("pad_to_bucket", "masked_mean"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"minijax has no {name!r}; dir(minijax) lists what it has.")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """A package where a public function wins over the submodule of the same name.

    Importing the submodule `minijax.jit` makes Python set the attribute `jit` of this
    package to that module; here it becomes the function `jit` instead.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
