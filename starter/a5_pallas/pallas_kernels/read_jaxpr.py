"""Writes a traced function down as plain data (`program.Program`), kernels and all.

    program = read_jaxpr.read(jax.jit(f).trace(x, y).jaxpr, [x, y])

Both versions of JAX that this package supports keep the same facts under slightly different types; the few
places that differ are in `_open`, `_loop_sizes` and `_index`. Integer operations outside of kernels are
carried out on the arguments while they are read, because the operands that a kernel prefetches decide which
blocks it fetches. Arrays that a function captured come along, so that its program can be carried out elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import tree_util

from .program import Block, Body, Call, Equation, Index, Literal, Operand, Program, Type, View

MAX_KNOWN = 1 << 20  # elements of an integer array whose values are kept
MAX_CAPTURED = 16 << 20  # bytes of all captured arrays whose values are kept
_NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()
_SPACES = {"default": "vmem", "None": "vmem", "hbm": "any", "semaphore_mem": "semaphore"}


def read(traced: Any, arguments: Sequence[Any] = ()) -> Program:
    """The traced function as plain data.

    `traced` is the `.jaxpr` of `jax.jit(f).trace(...)` or the result of `jax.make_jaxpr(f)(...)`; `arguments`
    are the flattened arguments, arrays where the kernels prefetch them and anything else otherwise.
    """
    reader = _Reader()
    jaxpr, constants = _open(traced)
    known = dict(zip(jaxpr.constvars, constants, strict=False))
    known |= dict(zip(jaxpr.invars, arguments, strict=False))
    reader.body(traced, {var: value for var, value in known.items() if _worth_knowing(value)})
    return Program(reader.bodies, reader.calls, reader.constants)


def _open(jaxpr: Any) -> tuple[Any, list[Any]]:
    """A jaxpr and the values of its constvars, whether or not it comes closed over them."""
    return getattr(jaxpr, "jaxpr", jaxpr), list(getattr(jaxpr, "consts", None) or [])


def _is_jaxpr(value: Any) -> bool:
    return hasattr(getattr(value, "jaxpr", value), "eqns")


def _worth_knowing(value: Any) -> bool:
    """Whether a value is an array that could steer a kernel: integers or booleans, not too many."""
    concrete = isinstance(value, np.ndarray | np.generic | jax.Array) and not isinstance(value, jax.core.Tracer)
    return concrete and _steers(value) and value.size <= MAX_KNOWN


def _steers(value: Any) -> bool:
    """Whether an array or type holds integers or booleans."""
    try:
        return np.dtype(getattr(value, "dtype", None)).kind in "iub" and hasattr(value, "dtype")
    except TypeError:  # semaphores and random keys have types that NumPy does not know
        return False


class _Reader:
    """Collects bodies and calls; one that is met twice is written down once."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.calls: list[Call] = []
        self.constants: list[Type] = []
        self._room = MAX_CAPTURED

    def body(self, jaxpr: Any, known: dict[Any, Any] | None = None) -> int:
        """Write down a jaxpr and return its number. `known` are values of its variables, and is added to."""
        jaxpr, constants = _open(jaxpr)
        self.constants += [kind for var in jaxpr.constvars if not (kind := _type(var.aval)).space]
        known = {} if known is None else known
        known |= {v: c for v, c in zip(jaxpr.constvars, constants, strict=False) if _worth_knowing(c)}
        number = len(self.bodies)
        self.bodies.append(None)
        names: dict[Any, int] = {}
        types: list[Type] = []

        def variable(var: Any) -> int:
            if var not in names:
                names[var] = len(types)
                types.append(_type(var.aval))
            return names[var]

        def operand(atom: Any) -> Operand:
            return _literal(atom) if hasattr(atom, "val") else variable(atom)

        inputs = [variable(var) for var in jaxpr.invars]
        closed_over = [variable(var) for var in jaxpr.constvars]
        equations = [self._equation(eqn, operand, known) for eqn in jaxpr.eqns]
        outputs = [operand(atom) for atom in jaxpr.outvars]
        captured = [self._value(constant) for constant in constants]
        self.bodies[number] = Body(types, inputs, closed_over, equations, outputs, captured)
        return number

    def _value(self, constant: Any) -> np.ndarray | None:
        """A captured array, as long as there is room for it."""
        concrete = isinstance(constant, np.ndarray | np.generic | jax.Array) and str(constant.dtype) in _NUMBERS
        if not concrete or isinstance(constant, jax.core.Tracer) or constant.nbytes > self._room:
            return None
        self._room -= constant.nbytes
        return np.asarray(constant)

    def _equation(self, eqn: Any, operand: Any, known: dict[Any, Any]) -> Equation:
        values = [atom.val if hasattr(atom, "val") else known.get(atom) for atom in eqn.invars]
        name, params = eqn.primitive.name, eqn.params
        operands = [operand(atom) for atom in eqn.invars]
        results = [operand(var) for var in eqn.outvars]
        if name == "pallas_call":
            self.calls.append(self._call(eqn, values))
            return Equation(name, operands, results, call=len(self.calls) - 1)
        if name in ("masked_load", "masked_swap"):
            return _masked(eqn, operand, results)
        plain = {key: _plain(value) for key, value in params.items()} | _loop_sizes(params)
        plain = {key: value for key, value in plain.items() if value is not None}
        bodies = []
        for _, value in sorted(params.items()):
            for inner in value if isinstance(value, tuple | list) else (value,):
                if _is_jaxpr(inner):
                    bodies.append(self._inner(name, inner, eqn, values, known))
        if not bodies:
            _compute(eqn, values, known)
        return Equation(name, operands, results, plain, bodies, _views(eqn, operand))

    def _inner(self, name: str, inner: Any, eqn: Any, values: list[Any], known: dict[Any, Any]) -> int:
        """A body inside an equation; where it is simply called, known values go in and come out."""
        jaxpr, _ = _open(inner)
        called = name not in ("scan", "while", "cond") and len(jaxpr.invars) == len(values)
        pairs = zip(jaxpr.invars, values, strict=False) if called else ()
        inside = {var: value for var, value in pairs if _worth_knowing(value)}
        number = self.body(inner, inside)
        if called and len(jaxpr.outvars) == len(eqn.outvars):
            for outer, atom in zip(eqn.outvars, jaxpr.outvars, strict=True):
                value = atom.val if hasattr(atom, "val") else inside.get(atom)
                if value is not None and _worth_knowing(np.asarray(value)):
                    known[outer] = np.asarray(value)
        return number

    def _call(self, eqn: Any, values: list[Any]) -> Call:
        params, mapping = eqn.params, eqn.params["grid_mapping"]
        bounds, values = values[: mapping.num_dynamic_grid_bounds], values[mapping.num_dynamic_grid_bounds :]
        grid = [n if isinstance(n, int) else int(bounds.pop(0) or 0) for n in mapping.grid]
        count = mapping.num_index_operands
        scalars = [np.asarray(value) if _worth_knowing(value) else None for value in values[:count]]
        kernel, _ = _open(params["jaxpr"])
        names = list(getattr(kernel.debug_info, "arg_names", None) or [])[count:]
        names = [name if name.isidentifier() else "" for name in map(str, names)]
        names += [""] * len(mapping.block_mappings)
        blocks = [self._block(block, names[place]) for place, block in enumerate(mapping.block_mappings)]
        places = [*(f"input {n}" for n in range(mapping.num_inputs)), *(f"output {n}" for n in range(len(blocks)))]
        blocks = [replace(block, name=block.name or place) for block, place in zip(blocks, places, strict=False)]
        compiler, cost = params["compiler_params"], params["cost_estimate"]
        if isinstance(compiler, dict):
            compiler = compiler.get("mosaic_tpu", compiler.get("mosaic"))
        semantics = getattr(compiler, "dimension_semantics", None) or []
        return Call(
            name=str(params["name"] or getattr(kernel.debug_info, "func_name", "kernel")),
            grid=grid,
            scalars=scalars,
            inputs=blocks[: mapping.num_inputs],
            outputs=blocks[mapping.num_inputs :],
            scratch=[_type(aval) for aval in mapping.scratch_avals],
            kernel=self.body(params["jaxpr"]),
            semantics=[str(getattr(word, "value", word)).lower() for word in semantics],
            aliases=[[int(a) - count, int(b)] for a, b in params["input_output_aliases"]],
            cost=[cost.flops, cost.transcendentals, cost.bytes_accessed] if cost is not None else None,
        )

    def _block(self, block: Any, name: str) -> Block:
        shape = [int(getattr(n, "block_size", n if isinstance(n, int) else 0) or 0) for n in block.block_shape]
        array = block.array_aval
        aval = _type(block.block_aval)
        whole = aval.space == "any" or shape == list(array.shape)
        buffers = getattr(block.pipeline_mode, "buffer_count", None) or (1 if whole else 2)
        return Block(
            name=name.removesuffix("_ref"),
            array=Type([int(n) for n in array.shape], str(array.dtype)),
            shape=shape,
            space=aval.space,
            index_map=self.body(block.index_map_jaxpr),
            element=any(type(n).__name__ in ("Element", "BoundedSlice") for n in block.block_shape),
            buffers=int(buffers),
        )


def _type(aval: Any) -> Type:
    space = ""
    if hasattr(aval, "inner_aval"):  # a Ref
        word = getattr(aval, "memory_space", None)
        word = str(getattr(word, "value", word)).lower()
        space = _SPACES.get(word, word)
        aval = aval.inner_aval
    shape = [int(n) if isinstance(n, int | np.integer) else 0 for n in getattr(aval, "shape", ())]
    return Type(shape, str(getattr(aval, "dtype", "none")), space)


def _literal(atom: Any) -> Literal:
    value, dtype = np.asarray(atom.val), str(getattr(atom.aval, "dtype", ""))
    if value.ndim == 0 and value.dtype.kind in "biuf":
        return Literal(value.item(), dtype)
    try:
        return Literal(float(value), dtype) if value.ndim == 0 else Literal()
    except (TypeError, ValueError):
        return Literal()


def _plain(value: Any) -> Any:
    """A parameter as data, or `None`."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, tuple | list):
        items = [_plain(item) for item in value]
        return items if all(item is not None for item in items) else None
    if isinstance(value, np.dtype | enum.Enum):
        return value.name
    return None


def _loop_sizes(params: Any) -> dict[str, int]:
    """How many operands of a scan are constants and how many are carried; JAX 0.12 keeps a tree of them."""
    if "ft_in" not in params:
        return {}
    constants, carry, _ = params["ft_in"].unpack()
    return {"num_consts": len(constants), "num_carry": len(carry)}


def _views(eqn: Any, operand: Any) -> list[View]:
    """The Refs that an equation reads, writes or copies, with the part of each."""
    tree = eqn.params.get("tree", eqn.params.get("args_tree"))
    if tree is None:
        return []
    refs = [atom for atom in eqn.invars if hasattr(getattr(atom, "aval", None), "inner_aval")]
    if eqn.primitive.name in ("get", "swap", "addupdate"):
        rest = eqn.invars[1 if eqn.primitive.name == "get" else 2 :]
        return [_view(refs[0], _unflatten(tree, rest), operand)] if refs else []
    parts = _unflatten(tree, eqn.invars)
    found = []
    for part in parts if isinstance(parts, tuple | list) else ():
        if hasattr(part, "transforms"):
            found.append(_view(part.ref, part.transforms, operand))
        elif hasattr(getattr(part, "aval", None), "inner_aval"):
            found.append(View(operand(part), []))
    return found


def _masked(eqn: Any, operand: Any, results: list[int]) -> Equation:
    """A load or store that may have a mask; without one it is a `get` or `swap`.

    The operands are the Ref, for a store the new values, the mask, and for a load what stands where it is false.
    """
    ref, transforms, *rest = _unflatten(eqn.params["args_tree"], eqn.invars)
    if eqn.primitive.name == "masked_load":
        mask, other = rest
        name, used = ("get", []) if mask is None else ("masked_load", [mask, other])
    else:
        value, mask = rest
        name, used = ("swap", [value]) if mask is None else ("masked_swap", [value, mask])
    operands = [operand(ref), *(operand(atom) for atom in used if atom is not None)]
    return Equation(name, operands, results, views=[_view(ref, transforms, operand)])


def _unflatten(tree: Any, leaves: Sequence[Any]) -> Any:
    try:
        return tree_util.tree_unflatten(tree, leaves)
    except (ValueError, TypeError):
        return None


def _view(ref: Any, transforms: Any, operand: Any) -> View:
    """The part of a Ref that indexers select, one after the other."""
    if not transforms:
        return View(operand(ref), None if transforms is None else [])
    path = [_index(transform, operand) for transform in transforms]
    if not all(path):
        return View(operand(ref), None)
    simple = len(path) == 1 and all(part.stride == 1 for part in path[0])
    return View(operand(ref), path[0]) if simple else View(operand(ref), None, path)


def _index(transform: Any, operand: Any) -> list[Index]:
    """What one indexer selects in each dimension; nothing for what is not understood."""
    found = []
    for axis, part in enumerate(getattr(transform, "indices", ())):
        if hasattr(part, "size") and hasattr(part, "start"):
            found.append(Index(_start(part.start, operand), int(part.size), int(getattr(part, "stride", 1))))
            continue
        start = _start(part, operand)
        if isinstance(start, Literal) and start.value is not None and start.value < 0:
            start = Literal(start.value + int(transform.shape[axis]), start.dtype)
        found.append(Index(start, 0))
    return found


def _start(value: Any, operand: Any) -> Operand:
    if isinstance(value, bool | int | np.integer):
        return Literal(int(value))
    return operand(value) if hasattr(value, "aval") else Literal()


def _compute(eqn: Any, values: list[Any], known: dict[Any, Any]) -> None:
    """Carry out an integer equation whose operands are all known."""
    outputs = [var.aval for var in eqn.outvars]
    small = all(_steers(aval) and np.prod(aval.shape) <= MAX_KNOWN for aval in outputs)
    if not outputs or not small or any(value is None for value in values) or eqn.effects:
        return
    try:
        results = eqn.primitive.bind(*values, **eqn.params)
    except Exception:  # whatever this primitive needs beyond its operands, its value stays unknown
        return
    for var, value in zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True):
        known[var] = np.asarray(value)
