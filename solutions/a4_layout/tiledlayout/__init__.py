"""tiledlayout: where each element of a tiled array lies in memory, and what it costs to move it.

The public names are imported when first used (PEP 562). So `import tiledlayout` runs none of the
files that are being written, and a mistake in one of them is met only by whoever uses it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {
    "dtypes": ("ElementType", "element_type", "packing"),
    "errors": ("LayoutError", "ParseError", "OutOfBoundsError", "MismatchError", "OperationError", "BudgetError"),
    "layout": ("ArrayLayout", "TupleLayout", "STAR"),
    "operations": ("Reshape", "Transpose", "Broadcast", "Reduce", "Bitcast", "Cost", "Step", "Plan"),
    "graph": ("Choice", "Node", "Graph", "transformer_graph"),
    "parse": ("parse", "to_string"),
    "address": ("physical_shape", "linear_index", "delinearize"),
    "padding": (
        *("padded_dims", "padded_elements", "padded_bytes", "efficiency", "vregs"),
        *("bytes_accessed", "mxu_efficiency"),
    ),
    "pack": ("pack", "unpack"),
    "relayout": ("is_bitcast", "relayout_cost", "plan", "op_cost"),
    "choose": ("default_tile", "matmul_vmem_bytes", "choose_block", "relayout_bytes", "assign_layouts"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"tiledlayout has no {name!r}; dir(tiledlayout) lists what it has.")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """A package where a public function wins over the submodule of the same name.

    Importing the submodule `tiledlayout.pack` makes Python set the attribute `pack` of this
    package to that module; here it becomes the function `pack` instead.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
