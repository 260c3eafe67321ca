"""Named tile programs (see `tiles.py`), as a compiler would get them from fused kernels.

Memory, in rows: from 0 the tiles of x, from `Y` those of y (a mask of zeros and ones), from `OUT`
room for the results, each for up to 32 tiles; from `W1` and `W2` two lanes × lanes matrices.
"""

from __future__ import annotations

from .tiles import Step

Y, OUT, W1, W2 = 256, 512, 768, 1024

# tanh is a quotient of powers of e: x · (1 + tanh u) / 2 is x / (1 + e^(−2u)).
GELU = [
    Step("load", "x"),
    Step("mul", "xx", ("x", "x")),
    Step("mul", "xxx", ("xx", "x")),
    Step("scale", "cubic", ("xxx",), 0.044715),
    Step("add", "sum", ("x", "cubic")),
    Step("scale", "u", ("sum",), -2 * 0.79788456),
    Step("exp", "e", ("u",)),
    Step("shift", "below", ("e",), 1.0),
    Step("reciprocal", "half", ("below",)),
    Step("mul", "y", ("x", "half")),
    Step("store", "", ("y",), OUT),
]

_SOFTMAX_OF_S = [
    Step("row_max", "m", ("s",)),
    Step("sub", "d", ("s", "m")),
    Step("exp", "e", ("d",)),
    Step("row_sum", "z", ("e",)),
    Step("reciprocal", "r", ("z",)),
    Step("mul", "p", ("e", "r")),
]

SOFTMAX = [Step("load", "s"), *_SOFTMAX_OF_S, Step("store", "", ("p",), OUT)]

# 1 / 32 for the mean stands for 1 / lanes of the teaching machine; on another machine it is another scale.
RMS_NORM = [
    Step("load", "x"),
    Step("mul", "xx", ("x", "x")),
    Step("row_sum", "total", ("xx",)),
    Step("scale", "mean", ("total",), 1 / 32),
    Step("shift", "above", ("mean",), 1e-6),
    Step("rsqrt", "r", ("above",)),
    Step("mul", "y", ("x", "r")),
    Step("store", "", ("y",), OUT),
]

COLUMN_RANGE = [
    Step("load", "x"),
    Step("column_max", "high", ("x",)),
    Step("scale", "minus", ("x",), -1.0),
    Step("column_max", "low", ("minus",)),
    Step("add", "y", ("high", "low")),
    Step("store", "", ("y",), OUT),
]

MATMUL = [
    Step("load", "x"),
    Step("matmul", "y", ("x",), W1),
    Step("store", "", ("y",), OUT),
]

# One tile of queries against `lanes` keys, whose transpose is W1, and their values, W2.
ATTENTION = [
    Step("load", "q"),
    Step("load", "mask", (), Y),
    Step("matmul", "scores", ("q",), W1),
    Step("select", "s", ("mask", "scores"), -1e38),
    *_SOFTMAX_OF_S,
    Step("matmul", "o", ("p",), W2),
    Step("store", "", ("o",), OUT),
]

KERNELS: dict[str, list[Step]] = {
    "gelu": GELU,
    "softmax": SOFTMAX,
    "rms_norm": RMS_NORM,
    "column_range": COLUMN_RANGE,
    "matmul": MATMUL,
    "attention": ATTENTION,
}
