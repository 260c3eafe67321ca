"""Traces and runs a kernel of the student's, and says in plain data what it is. No secret in it.

Probes import this module before any file of the student's. It takes what it needs from JAX and from the given
files when it is imported, so that later changes to those modules do not reach it.
"""

import importlib
import logging
import re

import msgspec
import numpy as np
from jax import ShapeDtypeStruct, block_until_ready, enable_x64, jit, tree, vjp, vmap
from jax import __version_info__ as jax_version
from jax import numpy as jnp
from jax.test_util import check_grads

from pallas_kernels.interpreters import MATHEMATICS, check_races, reset, tpu
from pallas_kernels.interpreters import lower as lower_for_tpu
from pallas_kernels.read_jaxpr import read

logging.getLogger("jax._src.callback").disabled = True  # it prints a traceback for whatever an interpreter raises

# A program runs for milliseconds and is compiled for a second; without these emitters XLA compiles it in a third
# of that. Later versions of JAX cannot do without them.
_COMPILER_OPTIONS = {"xla_cpu_use_fusion_emitters": False} if jax_version < (0, 11) else {}

_SAID = re.compile(
    r"^\w*(?:Error|Exception): (?P<said>Revisited block.*|Out-of-bounds.*|.*out of bounds.*)$", re.M
)


class TpuError(RuntimeError):
    """What the simulated TPU refused; the message is the interpreter's."""


def call(kernel, options, how):
    """A kernel such as `"matmul.matmul"` as a function of its arrays and of the options that are arrays.

    Booleans among the options (masks) stay NumPy arrays; lists of arrays become tuples.
    """
    module, name = kernel.split(".")
    function = getattr(importlib.import_module(f"pallas_kernels.{module}"), name)
    fixed = {key: value for key, value in options.items() if not _is_traced(value)}

    def run(arrays, keywords):
        return function(*arrays, **keywords, **fixed, interpret=interpreter(how))

    return run


def interpreter(how):
    """An interpreter from its name, or from the arguments of `interpreters.tpu`."""
    return {"mathematics": MATHEMATICS, "lowering": False}[how] if isinstance(how, str) else tpu(**how)


def _is_traced(value):
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype != bool)


def _arrays(arguments, options):
    """Arguments as JAX has them: arrays, and types without data where `[shape, dtype name]` is given."""
    traced = {
        key: tuple(map(_array, value)) if isinstance(value, list) else _array(value)
        for key, value in options.items()
        if _is_traced(value)
    }
    return [_array(argument) for argument in arguments], traced


def _array(value):
    if isinstance(value, list):
        return ShapeDtypeStruct(tuple(value[0]), jnp.dtype(value[1]))
    return jnp.asarray(value) if isinstance(value, np.ndarray) else value


def _doubles(arguments):
    """A context in which float64 is what it says, if one of the arguments is."""
    return enable_x64(any(getattr(a, "dtype", None) == np.float64 for a in arguments))


def program(kernel, arguments, options, how):
    """The kernel's program alone; nothing runs."""
    arrays = _arrays(arguments, options)
    return _plain(jit(call(kernel, options, how)).trace(*arrays), arrays)


def ran(kernel, arguments, options, how):
    """The kernel's results, and the very program that gave them: it is traced once."""
    return _ran(call(kernel, options, how), arguments, options)


def mapped(kernel, arguments, options, how, axes):
    """The same under `vmap`, with these `in_axes`."""
    run = call(kernel, options, how)
    return _ran(
        lambda arrays, keywords: vmap(lambda *xs: run(xs, keywords), tuple(axes))(*arrays), arguments, options
    )


def pulled_back(kernel, arguments, cotangent, options, how):
    """The cotangents of all arguments, and the program that gave them."""
    run = call(kernel, options, how)

    def back(arrays, keywords):
        *inputs, dy = arrays
        return vjp(lambda *xs: run(xs, keywords), *inputs)[1](dy)

    return _ran(back, [*arguments, cotangent], options)


def backward_program(kernel, arguments, cotangent, options, how):
    """The program of the cotangents alone; nothing runs."""
    run = call(kernel, options, how)

    def back(arrays, keywords):
        *inputs, dy = arrays
        return vjp(lambda *xs: run(xs, keywords), *inputs)[1](dy)

    arrays = _arrays([*arguments, cotangent], options)
    return _plain(jit(back).trace(*arrays), arrays)


def lowering(kernel, arguments, options, gradient=False):
    """What keeps a kernel (or its gradient) from being lowered for a TPU, in JAX's words; empty if nothing."""
    run = call(kernel, options, "lowering")

    def function(arrays, keywords):
        if not gradient:
            return run(arrays, keywords)
        return vjp(lambda *xs: run(xs, keywords), *arrays)[1](arrays[0])

    try:
        lower_for_tpu(function, *_arrays(arguments, options))
    except (ValueError, NotImplementedError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).strip()[:600]}"
    return ""


def checked(kernel, arguments):
    """Compare the kernel's gradient with finite differences; raises `AssertionError`."""
    run = call(kernel, {}, "mathematics")
    with _doubles(arguments):
        check_grads(jit(lambda *xs: run(xs, {})), [_array(a) for a in arguments], order=1, modes=["rev"])


def _ran(function, arguments, options):
    with _doubles(arguments):
        arrays = _arrays(arguments, options)
        trace = jit(function).trace(*arrays)
        plain = _plain(trace, arrays)
        return {"values": _run(trace.lower().compile(_COMPILER_OPTIONS), arrays), "program": plain}


def _plain(trace, arrays):
    return msgspec.to_builtins(read(trace.jaxpr, tree.leaves(arrays)), builtin_types=(np.ndarray,))


def _run(compiled, arrays):
    try:
        results = block_until_ready(compiled(*arrays))
        check_races()
    except Exception as error:
        reset()
        found = _SAID.search(str(error))
        if found:
            raise TpuError(found["said"].strip()[:500]) from None
        raise
    return [np.asarray(leaf) for leaf in tree.leaves(results)]
