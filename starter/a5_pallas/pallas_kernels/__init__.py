"""pallas_kernels: kernels for TPUs, written with Pallas and run on a CPU by an interpreter.

`pallas_kernels.matmul` and the other public names are imported when first used (PEP 562). So
`import pallas_kernels` runs none of the files that are being written, and a mistake in one of them is met only by
whoever uses it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {
    "elementwise": ("axpy", "relu_with_mask", "sgd_update", "silu", "transpose", "take_head", "add_row"),
    "reductions": ("colsum", "rowsum", "logsumexp", "sum_leading"),
    "normalise": ("softmax", "layernorm", "rmsnorm"),
    "matmul": ("matmul", "quantized_matmul"),
    "flash": ("flash_attention",),
    "splash": ("MaskInfo", "mask_info", "splash_attention"),
    "decode": ("paged_attention",),
    "tiles": ("tile_stats", "choose_tiles", "add_manual_dma"),
    "inspect_kernel": ("inspect",),
    "errors": ("EmptyRowError",),
    "chips": ("CHIPS",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"pallas_kernels has no {name!r}; dir(pallas_kernels) lists what it has.")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """A package where a public function wins over the submodule of the same name.

    Importing the submodule `pallas_kernels.matmul` makes Python set the attribute `matmul` of this package to that
    module; here it becomes the function `matmul` instead.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
