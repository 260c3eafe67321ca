"""jit: trace once for each kind of call, then run the recorded program.

What kind of call it is, is the cache key (`cache_key.py`). A call whose key is known runs the
program found under it, and the Python function is not run at all: its side effects happen
once for each key.

The programs belong to the function object: every `jit` of one function shares them, and
they are dropped when the function is. A lambda written in a loop is a new function each time
round, so it is traced each time. Only complete programs are stored: a function that raises
while it is traced leaves the cache as it was.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import update_wrapper, wraps
from typing import Any, NamedTuple

from .cache_key import CacheKey, KeyDifference, key_differences, make_key
from .core import Jaxpr, Literal, aval_of
from .dce import dead_code_elimination
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .static_arguments import Call, StaticSpec
from .trace import Tracer, eval_jaxpr, trace_flat


class CacheStats(NamedTuple):
    """Calls that found a program, calls that did not, and the number of programs kept."""

    hits: int
    misses: int
    size: int


class Program(NamedTuple):
    """What is kept for a key: a program without dead equations, and its result's structure."""

    jaxpr: Jaxpr
    out_structure: TreeDef


@dataclass(eq=False)
class ProgramCache:
    """The programs of one function, oldest first, and how they were used."""

    programs: dict[CacheKey, Program] = field(default_factory=dict)
    hits: int = 0
    misses: int = 0

    def clear(self) -> None:
        """Forget programs and counts."""
        self.programs.clear()
        self.hits = self.misses = 0


_BY_FUNCTION: dict[int, ProgramCache] = {}  # by id of a living function
_ALL_CACHES: weakref.WeakSet[ProgramCache] = weakref.WeakSet()
_DROPPED = ProgramCache()  # counts of functions that are gone; it holds no programs


def cache_of(function: Callable[..., Any]) -> ProgramCache:
    """The one cache of a function object; it does not keep the function alive.

    When the function is deleted, its cache goes and `_forget` gets its counts. An object
    that cannot be referred to weakly gets a cache of its own at each call of this function.
    """
    ### BEGIN SOLUTION a1.3: look up by identity; a finalizer on the function removes the entry
    cache = _BY_FUNCTION.get(id(function))
    if cache is None:
        cache = ProgramCache()
        _ALL_CACHES.add(cache)
        try:
            weakref.finalize(function, _forget, id(function)).atexit = False
        except TypeError:
            return cache
        _BY_FUNCTION[id(function)] = cache
    return cache
    ### END SOLUTION


def _forget(identity: int) -> None:
    """A function is gone: drop its programs, keep its counts for `cache_stats`."""
    cache = _BY_FUNCTION.pop(identity, None)
    if cache is not None:
        _DROPPED.hits += cache.hits
        _DROPPED.misses += cache.misses
        cache.clear()


def cache_stats() -> CacheStats:
    """Hits and misses of all jitted functions since `cache_clear`, and the programs kept now."""
    caches = [_DROPPED, *_ALL_CACHES]
    return CacheStats(
        sum(cache.hits for cache in caches),
        sum(cache.misses for cache in caches),
        sum(len(cache.programs) for cache in caches),
    )


def cache_clear() -> None:
    """Forget the programs and counts of all jitted functions."""
    for cache in (_DROPPED, *_ALL_CACHES):
        cache.clear()


def trace_program(function: Callable[..., Any], call: Call) -> Program:
    """Trace `function` for calls of this kind, with its static values built in."""
    leaves, structure = tree_flatten((call.args, call.kwargs))

    @wraps(function)
    def of_data(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call.invoke(function, args, kwargs)

    ### BEGIN SOLUTION a1.3: trace the function of the data, eliminate dead code
    avals = [aval_of(leaf) for leaf in leaves]
    jaxpr, out_structure = trace_flat(of_data, avals, structure)
    return Program(dead_code_elimination(jaxpr), out_structure)
    ### END SOLUTION


def captures_tracer(jaxpr: Jaxpr) -> bool:
    """Whether a literal or the value of a constvar is a tracer of an enclosing trace.

    Such a program is right now and wrong after that trace has ended, so it must not be kept.
    """
    atoms = [*(atom for eqn in jaxpr.eqns for atom in eqn.invars), *jaxpr.outvars]
    values = [*(atom.value for atom in atoms if isinstance(atom, Literal)), *jaxpr.consts]
    return any(isinstance(value, Tracer) for value in values)


@dataclass(frozen=True, slots=True)
class CacheExplanation:
    """Whether a call would hit the cache and, if not, how it differs from the nearest entry.

    `differences` is empty for a hit, and when nothing has been cached yet.
    """

    hit: bool
    differences: tuple[KeyDifference, ...] = ()

    def __str__(self) -> str:
        if self.hit:
            return "The call would hit the cache."
        if not self.differences:
            return "The call would miss: no call of this function has been cached yet."
        return "The call would miss. Nearest entry: " + "; ".join(map(str, self.differences)) + "."


class JittedFunction:
    """What `jit` returns: called like the function it wraps."""

    def __init__(self, function: Callable[..., Any], statics: StaticSpec) -> None:
        update_wrapper(self, function)
        self._function = function
        self._statics = statics
        self._cache = cache_of(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._statics.split(args, kwargs)
        leaves, structure = tree_flatten((call.args, call.kwargs))
        key = make_key(structure, leaves, call.statics)
        ### BEGIN SOLUTION a1.3: find the program or trace and keep it; count; run it on the data
        program = self._cache.programs.get(key)
        if program is not None:
            self._cache.hits += 1
        else:
            self._cache.misses += 1
            program = trace_program(self._function, call)
            if not captures_tracer(program.jaxpr):
                self._cache.programs[key] = program
        results = eval_jaxpr(program.jaxpr, *leaves)
        return tree_unflatten(program.out_structure, results)
        ### END SOLUTION

    def __repr__(self) -> str:
        return f"<jit of {self._function!r}>"

    def cache_stats(self) -> CacheStats:
        """Hits, misses and size of this function's cache."""
        cache = self._cache
        return CacheStats(cache.hits, cache.misses, len(cache.programs))

    def cache_clear(self) -> None:
        """Forget this function's programs and counts."""
        self._cache.clear()

    def explain_cache_miss(self, *args: Any, **kwargs: Any) -> CacheExplanation:
        """Say what a call with these arguments would do; nothing is traced or counted.

        The nearest entry is the one with the fewest differences, the youngest if several.
        """
        call = self._statics.split(args, kwargs)
        leaves, structure = tree_flatten((call.args, call.kwargs))
        key = make_key(structure, leaves, call.statics)
        ### BEGIN SOLUTION a1.3: compare with every cached key, choose the nearest
        if key in self._cache.programs:
            return CacheExplanation(hit=True)
        youngest_first = reversed(list(self._cache.programs))
        paths = call.paths()
        candidates = [key_differences(cached, key, paths) for cached in youngest_first]

        def distance(candidate: tuple[KeyDifference, ...]) -> tuple[bool, int]:
            return any(item.part == "structure" for item in candidate), len(candidate)

        return CacheExplanation(False, min(candidates, key=distance, default=()))
        ### END SOLUTION


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Any:
    """A function with the results of `function` that traces once for each kind of call.

    Arguments that are not static are pytrees of arrays. Static ones, named by position or by
    name, are configuration: any hashable value, which the function may branch on. Usable as
    `jit(f)`, `@jit` and `@jit(static_argnames="n")`. Raises StaticArgumentError for a static
    value that is not hashable, DTypeError for data that is no array, and what tracing raises.
    The result has `cache_stats()`, `cache_clear()` and `explain_cache_miss(...)`.
    """
    if function is None:
        return lambda later: jit(later, static_argnums=static_argnums, static_argnames=static_argnames)
    return JittedFunction(function, StaticSpec(function, static_argnums, static_argnames))
