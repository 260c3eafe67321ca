"""Exceptions of minijax: facts first, wording second.

Every class takes plain facts (strings, integers, tuples of these), keeps them as
attributes, and builds its sentence from them. Whoever raises one says *what* is wrong;
the class knows how to say it: what was given, what is allowed, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


def _list(items: Iterable[object]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = [str(item) for item in items]
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


class ShapeError(TypeError):
    """Operands whose shapes do not fit a primitive.

    `primitive`: its name. `avals`: the operands' types, given as `ShapedArray` or str and
    kept as a tuple of str such as `"f32[4,3]"`. `reason`: what does not fit.
    """

    def __init__(self, primitive: str, avals: Iterable[object], reason: str = "the shapes do not fit") -> None:
        self.primitive = primitive
        self.avals = tuple(str(aval) for aval in avals)
        self.reason = reason
        super().__init__(f"{primitive}: {reason}: {_list(self.avals)}")


class DTypeError(TypeError):
    """Operands whose dtypes (or Python types) a primitive does not take.

    Fields as in `ShapeError`; `primitive` may also name a function such as `make_jaxpr`.
    """

    def __init__(self, primitive: str, avals: Iterable[object], reason: str = "the dtypes do not fit") -> None:
        self.primitive = primitive
        self.avals = tuple(str(aval) for aval in avals)
        self.reason = reason
        super().__init__(f"{primitive}: {reason}: {_list(self.avals)}")


# What else to say, by the operation that Python asked for.
_ADVICE = {
    "__array__": " If NumPy asked, use the minijax function of the same name.",
    "indexing": " To pick elements, multiply by a mask and sum, or use dot with a one-hot row.",
    "iteration": " To work on all rows at once, use vmap or a reduction.",
}


class ConcretizationError(TypeError):
    """Python asked a tracer for data that it does not have.

    `function`: name of the function being traced. `value`: the tracer as printed, such as
    `"Traced<f32[4,3]>"`. `operation`: what Python asked for: `"bool"`, `"int"`, `"float"`,
    `"__array__"`, `"__index__"`, `"indexing"` or `"iteration"`.
    """

    def __init__(self, function: str, value: str, operation: str) -> None:
        self.function = function
        self.value = value
        self.operation = operation
        super().__init__(
            f"While tracing {function}, {operation} was asked of {value}, which stands for any "
            f"array of its shape and dtype and holds no data. Two ways out: choose between "
            f"computed values with minijax.where, or, if the value is configuration, make it "
            f"a static argument of jit (static_argnums, static_argnames)." + _ADVICE.get(operation, "")
        )


class LeakedTracerError(RuntimeError):
    """A tracer was used after the trace that made it had ended.

    `value`: the tracer as printed. `origin`: `"function f, file:line"`, the traced function
    and the line of the program that made the tracer.
    """

    def __init__(self, value: str, origin: str) -> None:
        self.value = value
        self.origin = origin
        super().__init__(
            f"{value}, made in {origin}, was used after the tracing of that function had ended. "
            f"A traced function must return its results; do not store them in globals, "
            f"attributes or outer lists."
        )


class StaticArgumentError(TypeError):
    """An argument declared static that cannot be part of a cache key.

    `argument`: its position (int) or name (str). `reason`: what is wrong with it.
    """

    def __init__(self, argument: int | str, reason: str = "its value is not hashable") -> None:
        self.argument = argument
        self.reason = reason
        super().__init__(
            f"Static argument {argument!r}: {reason}. A static argument is compared with earlier "
            f"ones by hash and equality: pass a number, string or tuple of these, or make it an "
            f"ordinary argument."
        )


class GradientError(TypeError):
    """Something that has no gradient was asked for one.

    `what`: `"output"`, `"cotangent"` or the argument, such as `"argument 0['w']"`.
    `aval`: its type, as str.
    """

    def __init__(self, what: str, aval: object) -> None:
        self.what = what
        self.aval = str(aval)
        allowed = {
            "output": "a scalar of a floating dtype; sum or average it first, or use vjp",
            "cotangent": "of the output's shape, dtype and structure",
        }.get(what, "of a floating dtype; convert it, or leave it out of argnums")
        super().__init__(f"grad: the {what} is {self.aval}; it must be {allowed}.")


class BatchSizeError(ValueError):
    """Arguments of `vmap` that disagree on the size of the mapped axis, or none is mapped.

    `sizes`: a tuple of (argument's name or path, size).
    """

    def __init__(self, sizes: Iterable[tuple[str, int]]) -> None:
        self.sizes = tuple((str(name), int(size)) for name, size in sizes)
        if not self.sizes:
            sentence = "vmap: no argument is mapped; give at least one an axis in in_axes."
        else:
            found = _list(f"{name} has size {size}" for name, size in self.sizes)
            sentence = f"vmap: mapped axes must have one size, but {found}."
        super().__init__(sentence)


class JaxprError(ValueError):
    """A jaxpr that breaks a rule of the language (types, single assignment, scope).

    `where`: `"equation 3 (add)"`, `"invars"`, `"constvars"` or `"outvars"`. `problem`: which
    rule is broken, and how.
    """

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"jaxpr, {where}: {problem}.")
