"""pallas_kernels: kernels for TPUs, written with Pallas and run on a CPU by an interpreter.

`pallas_kernels.softmax` and the other public names are imported when first used (PEP 562). So
`import pallas_kernels` runs none of the files that are being written, and a mistake in one of them is met only by
whoever uses it. `matmul` is the name of a module: write `from pallas_kernels.matmul import matmul`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "elementwise": ("axpy", "relu_with_mask", "sgd_update", "silu", "transpose", "take_head", "add_row"),
    "reductions": ("colsum", "rowsum", "logsumexp", "sum_leading"),
    "normalise": ("softmax", "layernorm", "rmsnorm"),
    "matmul": ("quantized_matmul",),
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
