"""Records what XLA's own parser and HloCostAnalysis say about texts that `minixla` printed.

    python grading_tests/a2_fusion/hidden/generate_golden_xla.py

needs the JAX wheel (0.10.2 was used; the interface is private to it) and writes `golden_xla.json`: for each
text its name, the text, XLA's flops, bytes accessed and transcendentals, and why they differ from those of
`cost_analysis`, where they do (else null). That XLA reads a text at all proves that it is HLO.
Grading does not run this.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "solutions" / "a2_fusion"))

from minixla.cost_analysis import cost  # noqa: E402
from minixla.programs import NAMES, program  # noqa: E402
from minixla.text import parse, print_module  # noqa: E402
from minixla.verifier import verify  # noqa: E402

ADD = """
%region_add_f32 {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x, %y)
}
"""

# The vectors: a name, computations that the entry calls, and the entry's instructions.
VECTORS: dict[str, tuple[str, str]] = {
    "dot": (
        "",
        """a = f32[10,5] parameter(0)
        b = f32[5,30] parameter(1)
        ROOT d = f32[10,30] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    ),
    "batch_dot": (
        "",
        """a = f32[4,10,5] parameter(0)
        b = f32[4,5,30] parameter(1)
        ROOT d = f32[4,10,30] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0},
            rhs_contracting_dims={1}""",
    ),
    "reduce": (
        ADD,
        """a = f32[10,20] parameter(0)
        zero = f32[] constant(0)
        ROOT r = f32[10] reduce(a, zero), dimensions={1}, to_apply=%region_add_f32""",
    ),
    "slice": (
        "",
        """a = f32[2] parameter(0)
        ROOT s = f32[1] slice(a), slice={[0:1]}""",
    ),
    "dynamic_slice": (
        "",
        """a = f32[2] parameter(0)
        i = s32[] parameter(1)
        ROOT s = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}""",
    ),
    "dynamic_update_slice": (
        "",
        """a = f32[2] parameter(0)
        u = f32[1] parameter(1)
        i = s32[] parameter(2)
        ROOT s = f32[2] dynamic-update-slice(a, u, i)""",
    ),
    "loop_fusion": (
        """%fused {
        a = f32[2,2] parameter(0)
        b = f32[2,2] parameter(1)
        c = f32[2,2] parameter(2)
        add = f32[2,2] add(a, b)
        clamp = f32[2,2] clamp(b, add, add)
        exp = f32[2,2] exponential(add)
        mul = f32[2,2] multiply(exp, c)
        ROOT sub = f32[2,2] subtract(mul, clamp)
        }""",
        """a = f32[2,2] parameter(0)
        b = f32[2,2] parameter(1)
        c = f32[2,2] parameter(2)
        ROOT f = f32[2,2] fusion(a, b, c), kind=kLoop, calls=%fused""",
    ),
    "sigmoid_of_matmul": (
        "",
        """a = f32[10,5] parameter(0)
        w = f32[5,20] parameter(1)
        b = f32[20] parameter(2)
        dot = f32[10,20] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        bias = f32[10,20] broadcast(b), dimensions={1}
        add = f32[10,20] add(dot, bias)
        neg = f32[10,20] negate(add)
        exp = f32[10,20] exponential(neg)
        one = f32[] constant(1)
        ones = f32[10,20] broadcast(one), dimensions={}
        sum = f32[10,20] add(ones, exp)
        ROOT div = f32[10,20] divide(ones, sum)""",
    ),
    "logistic_of_matmul": (
        "",
        """a = f32[10,5] parameter(0)
        w = f32[5,20] parameter(1)
        b = f32[20] parameter(2)
        dot = f32[10,20] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        bias = f32[10,20] broadcast(b), dimensions={1}
        add = f32[10,20] add(dot, bias)
        ROOT l = f32[10,20] logistic(add)""",
    ),
    "nested_fusion": (
        """%inner {
        x = bf16[64,16,512,512] parameter(0)
        ROOT n = bf16[64,16,512,512] negate(x)
        }
        %outer {
        x = bf16[64,16,512,512] parameter(0)
        f = bf16[64,16,512,512] fusion(x), kind=kLoop, calls=%inner
        ROOT n = bf16[64,16,512,512] abs(f)
        }""",
        """x = bf16[64,16,512,512] parameter(0)
        ROOT f = bf16[64,16,512,512] fusion(x), kind=kLoop, calls=%outer""",
    ),
    "nested_fusion_read_twice": (
        """%inner {
        x = bf16[64,16,512,512] parameter(0)
        ROOT n = bf16[64,16,512,512] negate(x)
        }
        %outer {
        x = bf16[64,16,512,512] parameter(0)
        f = bf16[64,16,512,512] fusion(x), kind=kLoop, calls=%inner
        ROOT n = bf16[64,16,512,512] add(f, x)
        }""",
        """x = bf16[64,16,512,512] parameter(0)
        ROOT f = bf16[64,16,512,512] fusion(x), kind=kLoop, calls=%outer""",
    ),
    "same_operand_twice": ("", "a = f32[10] parameter(0)\nROOT m = f32[10] multiply(a, a)"),
    "convert": ("", "a = f32[10] parameter(0)\nROOT c = bf16[10] convert(a)"),
    "compare_and_select": (
        "",
        """a = f32[10] parameter(0)
        b = f32[10] parameter(1)
        p = pred[10] compare(a, b), direction=GT
        ROOT s = f32[10] select(p, a, b)""",
    ),
    "transpose": ("", "a = f32[10,4] parameter(0)\nROOT t = f32[4,10] transpose(a), dimensions={1,0}"),
    "reshape": ("", "a = f32[10,4] parameter(0)\nROOT t = f32[40] reshape(a)"),
    "broadcast": ("", "a = f32[10] parameter(0)\nROOT t = f32[10,4] broadcast(a), dimensions={0}"),
    "copy": ("", "a = f32[10] parameter(0)\nROOT t = f32[10] copy(a)"),
    "concatenate": (
        "",
        "a = f32[10] parameter(0)\nb = f32[6] parameter(1)\nROOT t = f32[16] concatenate(a, b), dimensions={0}",
    ),
    "iota": ("", "ROOT t = f32[16] iota(), iota_dimension=0"),
    "transcendentals": (
        "",
        """a = f32[10] parameter(0)
        b = f32[10] log(a)
        c = f32[10] tanh(b)
        d = f32[10] sqrt(c)
        e = f32[10] rsqrt(d)
        f = f32[10] sine(e)
        g = f32[10] cosine(f)
        h = f32[10] logistic(g)
        ROOT i = f32[10] power(h, a)""",
    ),
    "two_outputs": (
        ADD
        + """%fused {
        a = f32[10,20] parameter(0)
        e = f32[10,20] exponential(a)
        zero = f32[] constant(0)
        r = f32[10] reduce(e, zero), dimensions={1}, to_apply=%region_add_f32
        ROOT t = (f32[10,20], f32[10]) tuple(e, r)
        }""",
        """a = f32[10,20] parameter(0)
        f = (f32[10,20], f32[10]) fusion(a), kind=kInput, calls=%fused
        e = f32[10,20] get-tuple-element(f), index=0
        r = f32[10] get-tuple-element(f), index=1
        b = f32[10,20] broadcast(r), dimensions={0}
        ROOT d = f32[10,20] divide(e, b)""",
    ),
    "every_kind_of_text": (
        "",
        """a = f32[2,2] parameter(0)
        i = s32[] parameter(1)
        nan = f32[2,2] constant({ {nan, -nan}, {nan(0x1234), -inf} })
        tiny = f32[3] constant({1e-45, -0, 3.4028235e38})
        half = bf16[2] constant({0.1, -inf})
        truth = pred[2] constant({true, false})
        empty = f32[0,3] constant({})
        wide = u64[] constant(18446744073709551615)
        low = f32[] constant(-1.5)
        high = f32[] constant(1e-05)
        draws = f32[4] rng(low, high), distribution=rng_uniform
        start = (f32[2,2]{1,0:S(1)}, f32[2,2]{1,0}, u32[]{:S(2)}) copy-start(a)
        done = f32[2,2]{1,0:S(1)} copy-done(start)
        window = f32[1,2] dynamic-slice(done, i, i), dynamic_slice_sizes={1,2}
        put = f32[2,2] dynamic-update-slice(done, window, i, i)
        call = f32[2,2] custom-call(put), custom_call_target="print", custom_call_has_side_effect=true
        order = token[] after-all()
        out = token[] outfeed(call, order)
        strided = f32[1,2] slice(put), slice={[0:2:2], [0:2]}
        parts = (f32[2,2], f32[3], bf16[2], pred[2], f32[0,3], u64[], f32[4])
            tuple(nan, tiny, half, truth, empty, wide, draws)
        ROOT all = (f32[1,2], (f32[2,2], f32[3], bf16[2], pred[2], f32[0,3], u64[], f32[4]))
            tuple(strided, parts)""",
    ),
}

HEADERS = {"scheduled_and_aliased": ", is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1}: 1 }"}
VECTORS["scheduled_and_aliased"] = (
    "",
    """a = f32[4] parameter(0)
    b = s32[2] parameter(1)
    n = f32[4] negate(a), metadata={op_name="jit(f)/neg"}
    m = s32[2] negate(b)
    ROOT t = (f32[4], s32[2]) tuple(n, m)""",
)

# Where XLA's figures are others than `cost_analysis` gives, and why.
TWICE = "XLA counts the bytes of an operand as often as it is named"
TABLE = "XLA counts 8 bytes for each element of a tuple"
DIFFERENCES = {
    "nested_fusion_read_twice": "XLA counts a parameter that is read inside and outside a nested fusion twice",
    "same_operand_twice": TWICE,
    "every_kind_of_text": "XLA does not know what a custom-call computes, and counts rng and tuples",
    "scheduled_and_aliased": TABLE,
    "program_gelu_layer": TWICE,
    "program_gelu_layer_cleaned": TWICE,
    "program_training_step_cleaned": f"{TWICE}; {TABLE}",
    "program_per_sample_gradients_cleaned": f"{TWICE}; {TABLE}",
    "program_attention": "XLA adds up in f32, which is not exact here",
    "program_mlp_block": TWICE,
    "program_training_step": f"{TWICE}; {TABLE}",
    "program_per_sample_gradients": f"{TWICE}; {TABLE}",
    "program_mini_attention": TWICE,
    "program_broadcast_concat": TWICE,
}


def texts() -> dict[str, str]:
    """Every vector and every named program, as `minixla` prints it."""
    found = {}
    for name, (computations, entry) in VECTORS.items():
        header = f"HloModule {name}{HEADERS.get(name, '')}"
        module = parse(f"{header}\n{computations}\nENTRY %main {{\n{entry}\n}}\n")
        verify(module)
        found[name] = print_module(module)
    return found | {f"program_{name}": print_module(program(name)) for name in NAMES}


def analyse(text: str) -> dict[str, Any]:
    """XLA's figures for a text. Raises an error of XLA's if it cannot read it."""
    from jax._src.lib import xla_client
    from jaxlib import _hlo

    client = xla_client.make_cpu_client()
    properties = xla_client._xla.hlo_module_cost_analysis(client, _hlo.hlo_module_from_text(text))
    keys = ("flops", "transcendentals", "bytes accessed")
    return {key.replace(" ", "_"): int(properties.get(key, 0)) for key in keys}


def main() -> None:
    """Write `golden_xla.json`. Ends if a difference is not among `DIFFERENCES`, or one of these is none."""
    vectors = []
    for name, text in texts().items():
        figures = analyse(text)
        ours = cost(parse(text), "xla")
        same = figures == {
            "flops": ours.flops,
            "transcendentals": ours.transcendentals,
            "bytes_accessed": ours.bytes,
        }
        if same == (name in DIFFERENCES):
            raise SystemExit(f"{name}: XLA says {figures}, {ours.flops}, {ours.bytes}: is the difference known?")
        vectors.append({"name": name, "text": text, **figures, "differs": DIFFERENCES.get(name)})
    lines = ",\n".join(json.dumps(vector) for vector in vectors)
    (HERE / "golden_xla.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
