"""Cost of packing a large array into a tiled layout: the reference, other ways, and a submission beside it.

`python benchmarks/packing.py [FOLDER]`: FOLDER holds a `tiledlayout` to compare with the reference, in the same
run and on the same array (4096 × 4096 bf16). A vectorised pack should stay within twice the reference. The loop is
timed on a part of the array.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

SOLUTION = Path(__file__).resolve().parents[1] / "solutions" / "a4_layout"
SIDE = 4096
LAYOUTS = ("{1,0}", "{1,0:T(8,128)}", "{1,0:T(8,128)(2,1)}", "{0,1:T(8,128)(2,1)}")


def load(folder: Path) -> ModuleType:
    """The `tiledlayout` in a folder, all of its files read afresh."""
    for name in [name for name in sys.modules if name.split(".")[0] == "tiledlayout"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        package = importlib.import_module("tiledlayout")
        for name in ("pack", "unpack", "parse", "linear_index", "delinearize"):
            getattr(package, name)
        return package
    finally:
        sys.path.remove(str(folder))


def seconds(act: Callable[[], Any], repeats: int = 5) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


def loop(package: ModuleType, array: np.ndarray, layout: Any) -> bytearray:
    """Every element by itself."""
    out = bytearray(2 * array.size)
    view = array.view(np.uint16)
    for row in range(array.shape[0]):
        for column in range(array.shape[1]):
            slot = int(package.linear_index(layout, (row, column)))
            out[2 * slot : 2 * slot + 2] = int(view[row, column]).to_bytes(2, "little")
    return out


def main() -> None:
    """Print one row for each layout."""
    reference = load(SOLUTION)
    other = load(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else None
    bits = np.arange(SIDE * SIDE, dtype=np.uint32).astype(np.uint16).reshape(SIDE, SIDE)
    array = bits.view(ml_dtypes.bfloat16)
    small = np.ascontiguousarray(array[:64, :128])
    copy = seconds(lambda: array.tobytes())
    print(f"bf16[{SIDE},{SIDE}]; a plain copy takes {1e3 * copy:.1f} ms")
    head = ["layout", "pack ms", "unpack ms", "pack/copy", "loop/pack", "theirs/pack", "theirs/unpack"]
    print("".join(f"{name:>22}" if name == "layout" else f"{name:>15}" for name in head))
    for text in LAYOUTS:
        layout = reference.parse(f"bf16[{SIDE},{SIDE}]{text}")
        data = reference.pack(array, layout)
        pack = seconds(lambda layout=layout: reference.pack(array, layout))
        unpack = seconds(lambda data=data, layout=layout: reference.unpack(data, layout))
        part = reference.parse(f"bf16[64,128]{text}")
        slow = seconds(lambda part=part: loop(reference, small, part), 1) * array.size / small.size
        row = [f"{1e3 * pack:.1f}", f"{1e3 * unpack:.1f}", f"{pack / copy:.1f}", f"{slow / pack:,.0f}"]
        if other is None:
            row += ["no folder", ""]
        else:
            theirs = other.parse(f"bf16[{SIDE},{SIDE}]{text}")
            same = bytes(other.pack(array, theirs)) == data
            theirs_pack = seconds(lambda theirs=theirs: other.pack(array, theirs), 3)
            theirs_unpack = seconds(lambda data=data, theirs=theirs: other.unpack(data, theirs), 3)
            row += [f"{theirs_pack / pack:.2f}" if same else "wrong bytes", f"{theirs_unpack / unpack:.2f}"]
        print(f"{text:>22}" + "".join(f"{cell:>15}" for cell in row), flush=True)


if __name__ == "__main__":
    main()
