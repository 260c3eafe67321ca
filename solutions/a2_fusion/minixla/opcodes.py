"""The opcodes, by what they do. The vocabulary and the attributes are XLA's:

| opcodes                                     | attributes                                         |
|---------------------------------------------|----------------------------------------------------|
| parameter                                   | index                                              |
| constant                                    | (the field `literal`)                              |
| `ELEMENTWISE_UNARY`, `ELEMENTWISE_BINARY`   |                                                    |
| compare                                     | direction: EQ NE GT GE LT LE                       |
| select, clamp                               | (pred, on true, on false), (low, x, high)          |
| iota                                        | iota_dimension                                     |
| broadcast                                   | dimensions: operand axis i is axis dimensions[i]   |
| transpose                                   | dimensions: axis i is operand axis dimensions[i]   |
| reshape, bitcast, copy                      |                                                    |
| reduce (input, initial value)               | dimensions, to_apply                               |
| dot                                         | lhs_batch_dims, rhs_batch_dims,                    |
|                                             | lhs_contracting_dims, rhs_contracting_dims         |
| concatenate                                 | dimensions (one)                                   |
| slice                                       | starts, limits, strides                            |
| dynamic-slice (input, one index an axis)    | dynamic_slice_sizes                                |
| dynamic-update-slice (input, update, index…)|                                                    |
| tuple, get-tuple-element                    | index (of get-tuple-element)                       |
| fusion                                      | kind: kLoop kInput kOutput; calls                  |
| copy-start, copy-done                       | start's result: (copy, source, token `u32[]`)      |
| rng                                         | distribution: rng_uniform rng_normal               |
| custom-call                                 | custom_call_target, custom_call_has_side_effect    |
| after-all, outfeed                          | results are of dtype `token`                       |

Any instruction may have `op_name`, the source's name for it. It changes nothing.
"""

from __future__ import annotations

# Opcodes by what they do. A result of these has its operands' dims, and element i of it depends
# on element i of each operand (select and clamp may have scalar operands beside).
TRANSCENDENTAL = frozenset({"exponential", "log", "tanh", "logistic", "sqrt", "rsqrt", "sine", "cosine", "power"})
ELEMENTWISE_UNARY = frozenset(
    {"negate", "abs", "sign", "floor", "ceil", "not", "convert", "copy"} | (TRANSCENDENTAL - {"power"})
)
ELEMENTWISE_BINARY = frozenset(
    {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "compare"}
    | {"and", "or", "xor", "shift-left", "shift-right-logical", "shift-right-arithmetic"}
)
ELEMENTWISE = ELEMENTWISE_UNARY | ELEMENTWISE_BINARY | {"select", "clamp"}
COMMUTATIVE = frozenset({"add", "multiply", "and", "or", "xor", "maximum", "minimum"})
# These only move elements about, or repeat them.
DATA_MOVEMENT = frozenset(
    {"broadcast", "reshape", "transpose", "slice", "concatenate", "dynamic-slice", "dynamic-update-slice"}
)
# These run no kernel: they name a value that is in memory already, or part of one.
FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
# In the lecture's accounting these run no kernel either: they say how a reader finds its elements
# in an array that is in memory already (row-major, a reshape changes nothing).
ADDRESSING = frozenset({"broadcast", "reshape"})
# Data that moves beside the kernels.
ASYNCHRONOUS = frozenset({"copy-start", "copy-done"})
OPCODES = (
    ELEMENTWISE
    | DATA_MOVEMENT
    | FREE
    | ASYNCHRONOUS
    | {"iota", "reduce", "dot", "fusion", "rng", "custom-call", "outfeed"}
)
