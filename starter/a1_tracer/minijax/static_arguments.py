"""Static arguments: which of a call's arguments are configuration, not data.

`static_argnums` and `static_argnames` name parameters by position or by name; Python lets a
caller pass either kind either way. Here the two are brought together, so that `f(x, 3)` and
`f(x, n=3)` are the same call to the cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .errors import StaticArgumentError
from .pytree import tree_paths

Label = int | str  # how a static argument was declared


@dataclass(frozen=True, slots=True)
class Call:
    """A call, taken apart: static values by label, and the arguments that are data."""

    statics: dict[Label, Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    _template: tuple[Any, ...]  # for each position (value,) if static, None if data
    _keywords: dict[str, Any]  # static arguments that were passed by name

    def invoke(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function with these static values and other data of the same structure."""
        data = iter(args)
        positional = [next(data) if entry is None else entry[0] for entry in self._template]
        return function(*positional, **self._keywords, **kwargs)

    def paths(self) -> list[str]:
        """A name for each leaf of `(args, kwargs)`, such as `argument 0['w']`."""
        positions = (number for number, entry in enumerate(self._template) if entry is None)
        named = [(f"argument {p}", arg) for p, arg in zip(positions, self.args, strict=True)]
        named += sorted(self.kwargs.items())
        return [path for name, value in named for path in tree_paths(value, name)]


class StaticSpec:
    """The static parameters of one function, as declared.

    Raises StaticArgumentError for a position or name that the function does not have.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | Iterable[int],
        argnames: str | Iterable[str],
    ) -> None:
        names, variadic = _parameters(function)
        self._by_position: dict[int, Label] = {}
        self._by_name: dict[str, Label] = {}
        for name in (argnames,) if isinstance(argnames, str) else argnames:
            if name not in names and not variadic:
                raise StaticArgumentError(name, "the function has no parameter of that name")
            self._by_name[name] = name
            if name in names:
                self._by_position[names.index(name)] = name
        for number in (argnums,) if isinstance(argnums, int) else argnums:
            position = number + len(names) if number < 0 else number
            if position < 0 or (position >= len(names) and not variadic):
                raise StaticArgumentError(number, "the function has no parameter at that position")
            self._by_position[position] = position
            if position < len(names):
                self._by_name[names[position]] = position

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Take a call apart."""
        statics: dict[Label, Any] = {}
        template: list[Any] = []
        data: list[Any] = []
        for position, value in enumerate(args):
            if position in self._by_position:
                statics[self._by_position[position]] = value
                template.append((value,))
            else:
                data.append(value)
                template.append(None)
        keywords = {name: value for name, value in kwargs.items() if name in self._by_name}
        statics.update((self._by_name[name], value) for name, value in keywords.items())
        others = {name: value for name, value in kwargs.items() if name not in keywords}
        return Call(statics, tuple(data), others, tuple(template), keywords)


def _parameters(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """The parameters' names in order, and whether others may be passed besides."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature: take what is declared
        return [], True
    variadic = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    names = [parameter.name for parameter in parameters if parameter.kind not in variadic]
    return names, len(names) < len(parameters)
