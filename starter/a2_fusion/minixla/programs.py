"""The named programs, as modules: what the passes are measured on.

Their text is in `programs/`; most were lowered from jaxprs without any cleaning up.

| name                  | program                                                              |
|-----------------------|----------------------------------------------------------------------|
| gelu_layer            | x·w + b, then GELU twice over: 25 equations, 13 of them needed       |
| attention             | one head over 1024 positions: mask, softmax, two dots                |
| mlp_block             | layer normalisation, dot, GELU, dot, residual                        |
| training_step         | loss, gradients and update of a small network                        |
| per_sample_gradients  | the gradients of each sample, by vmap of grad                        |
| mini_attention        | dot, RMS normalisation, softmax, dot, of 16 rows                     |
| gelu_layer_cleaned    | the 13 equations of gelu_layer that are needed                       |
| training_step_cleaned, per_sample_gradients_cleaned | these, as they are before fusion       |
| attention_fused, mini_attention_fused | as three and as five kernels, in order               |
| attention_storing_exp | attention, fused by hand; the exponentials are stored, not recomputed|
| broadcast_concat      | a scheduled program whose peak memory a second broadcast lowers      |
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .hlo import Module
from .text import parse

NAMES = (
    "gelu_layer",
    "attention",
    "mlp_block",
    "training_step",
    "per_sample_gradients",
    "mini_attention",
    "gelu_layer_cleaned",
    "training_step_cleaned",
    "per_sample_gradients_cleaned",
    "attention_fused",
    "mini_attention_fused",
    "attention_storing_exp",
    "broadcast_concat",
)
_FOLDER = Path(__file__).parent / "programs"


@cache
def program(name: str) -> Module:
    """The program of that name. Raises KeyError for a name that is not in `NAMES`."""
    if name not in NAMES:
        raise KeyError(f"There is no program {name!r}; there are {', '.join(NAMES)}.")
    return parse((_FOLDER / f"{name}.hlo").read_text(encoding="utf-8"))
