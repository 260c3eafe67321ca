"""Writes `golden_xla.json`: texts of layouts as XLA reads and prints them, and the bytes that it counts.

Run by hand where JAX 0.12 is installed: `python grading_tests/a4_layout/hidden/generate_golden_xla.py`.

What XLA does not check is left out: its parser takes T(0,2), {1,1} and T(2,*), and ends the process at T(−2,2)
and L(0). So each text is tried in a process of its own. The cost analysis of 0.12 counts the padding of the
first tile, not that of sub-tiles, and knows nothing about `*`; that of 0.10 counts no padding. It aligns the
tail of tiled arrays only, although the layout's definition says any. It counts in float32.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import jax
from jax._src.lib import xla_client
from jaxlib import _hlo

FIXED = """
f32[3,5]{1,0:T(2,2)}
f32[3,5]
f32[]
f32[]{:T(128)}
u32[]{:T(128)S(1)}
f32[1024,512]{1,0:T(8,128)}
bf16[2048]{0:T(1024)(128)(2,1)}
bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}
s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}
f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}
f32[1,2,3,4]{3,2,1,0:T(42,123)(4,5)L(100)E(42)}
f32[3,5]{1,0:S(0)}
f32[3,5]{1,0:L(1)E(0)S(0)}
f32[3,5]{1,0:T(2,2)L(8)E(32)S(1)}
f32[3,5]{ 1, 0 : T( 2 , 2 ) }
 f32 [ 3 , 5 ] {1,0}
/* a comment */f32[0,5]
()
(f32[3]{0},s32[])
((f32[3], bf16[2]{0}), pred[], ())
(f32[1], f32[2], f32[3], f32[4], f32[5], f32[6], f32[7])
(f32[1], (f32[2], f32[3], f32[4], f32[5], f32[6], f32[7]), s8[2], s8[2], s8[2], s8[2], s8[2], s8[2], s8[2], s8[2])
"""
TYPES = "pred s2 u2 s4 u4 s8 u8 s16 u16 s32 u32 s64 u64 f4e2m1fn f8e4m3fn f8e5m2 f8e4m3b11fnuz f8e4m3fnuz".split()
TYPES += "f8e5m2fnuz bf16 f16 f32 f64 c64 c128".split()
COUNTED = """
f32[16,64]{1,0:T(8,128)}
f32[64,32]{0,1:T(8,128)}
f32[16]{0:T(128)}
f32[]{:T(128)}
s32[8388608,8,4]{2,1,0:T(8,128)}
s4[10]{0}
s4[11]{0:E(4)}
f32[8]{0:T(2,2)}
f32[3,5]{1,0:E(64)}
f32[3,5]{1,0:T(2,2)L(100)}
"""
MODULE = """HloModule m
ENTRY e {{
  p = {text} parameter(0)
  ROOT c = {text} copy(p)
}}
"""


def drawn(rng: random.Random, one_tile: bool) -> str:
    """A random text of an array's layout, which XLA prints as it stands."""
    dtype, rank = rng.choice(TYPES), rng.randint(0, 4)
    dims = [rng.choice([1, 2, 3, 7, 8, 100, 128, 513]) for _ in range(rank)]
    order = rng.sample(range(rank), rank)
    tiles = [[rng.choice([1, 2, 3, 8, 128]) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(0, 3))]
    suffix = "".join(f"({','.join(map(str, tile))})" for tile in (tiles[:1] if one_tile else tiles))
    suffix = f"T{suffix}" if suffix else ""
    suffix += f"L({rng.choice([2, 7, 100])})" if rng.random() < 0.2 and (suffix or not one_tile) else ""
    suffix += f"E({rng.choice([4, 8, 64])})" if rng.random() < 0.2 else ""
    suffix += f"S({rng.choice([1, 2, 5])})" if rng.random() < 0.2 else ""
    braces = ",".join(map(str, order)) + (f":{suffix}" if suffix else "")
    return f"{dtype}[{','.join(map(str, dims))}]" + (f"{{{braces}}}" if braces else "")


def in_a_process(act: object, text: str) -> object:
    """What `act(text)` returns, or None if it raised or ended its process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(2)
        try:
            os.write(write, json.dumps(act(text)).encode())  # type: ignore[operator]
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    return json.loads(answer) if answer else None


def printed(text: str) -> str:
    """The text as XLA prints what it has read."""
    return str(xla_client.Shape(text))


def main() -> None:
    """Write the file."""
    rng = random.Random(4)
    texts = [line for line in FIXED.splitlines() if line] + [f"{name}[3]" for name in TYPES]
    texts += [drawn(rng, one_tile=False) for _ in range(120)]
    pairs = [[text, in_a_process(printed, text)] for text in texts]
    assert all(answer is not None for _, answer in pairs), [text for text, answer in pairs if answer is None]
    client = jax.devices("cpu")[0].client

    def counted(text: str) -> int:
        module = _hlo.hlo_module_from_text(MODULE.format(text=text))
        return int(xla_client._xla.hlo_module_cost_analysis(client, module)["bytes accessedout{}"])

    texts = [line for line in COUNTED.splitlines() if line] + [drawn(rng, one_tile=True) for _ in range(80)]
    sizes = [[text, size] for text in texts if (size := counted(text)) < 1 << 24 or text in COUNTED]
    data = {"jax": jax.__version__, "printed": pairs, "bytes": sizes}
    Path(__file__).with_name("golden_xla.json").write_text(json.dumps(data, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
