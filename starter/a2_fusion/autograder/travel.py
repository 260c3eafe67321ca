"""How a function travels to the worker: as its source, compiled there in a namespace of its own.

A travelling function is a top-level `def` that imports what it needs inside its body, so nothing of the
test module is needed (or visible) where it runs. File name and line numbers are kept: a debugger and a
traceback show the real test file on a laptop. Its decorators and all annotations stay behind.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import textwrap
from types import CodeType, FunctionType
from typing import Any

import msgspec


class Packed(msgspec.Struct, array_like=True, frozen=True):
    """A function in transit: its dedented source, its name, and where the source came from."""

    source: str
    name: str
    file: str
    line: int


class TravelError(TypeError):
    """A function that cannot travel: the test's fault, never the student's."""


_packed: dict[CodeType, Packed] = {}
_compiled: dict[Packed, FunctionType] = {}


def pack(function: FunctionType) -> Packed:
    """The function as source. Raises `TravelError` if it is a lambda, a closure or uses globals."""
    function = inspect.unwrap(function)
    code = function.__code__
    if code not in _packed:
        _packed[code] = _pack(function)
    return _packed[code]


def _pack(function: FunctionType) -> Packed:
    where = f"{function.__name__} ({function.__code__.co_filename}:{function.__code__.co_firstlineno})"
    if function.__name__ == "<lambda>":
        raise TravelError(f"{where}: a lambda's source cannot be cut out; write a top-level `def`")
    if function.__closure__ or "<locals>" in function.__qualname__:
        raise TravelError(f"{where}: only a top-level function can travel; pass what it needs as arguments")
    lines, first = inspect.getsourcelines(function)
    file = inspect.getsourcefile(function) or "<unknown>"
    packed = Packed(textwrap.dedent("".join(lines)), function.__name__, file, first)
    free = sorted(free_names(compile_function(packed)))
    if free:
        raise TravelError(
            f"{where}: {', '.join(free)} would not exist where it runs; "
            "import inside the body or pass the value as an argument"
        )
    return packed


def unpack(packed: Packed) -> FunctionType:
    """Compile a packed function, once per process."""
    if packed not in _compiled:
        _compiled[packed] = compile_function(packed)
    return _compiled[packed]


class _Undress(ast.NodeTransformer):
    """Drops annotations, which name things that only the test module has."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


def compile_function(packed: Packed) -> FunctionType:
    """Compile the source in a fresh namespace, keeping file name and line numbers."""
    tree = _Undress().visit(ast.parse(packed.source))
    tree.body[0].decorator_list = []  # those of functions inside of it belong to it
    ast.increment_lineno(tree, packed.line - 1)
    namespace: dict[str, Any] = {"__name__": "probe"}
    exec(compile(tree, packed.file, "exec", dont_inherit=True), namespace)
    return namespace[packed.name]


def free_names(function: FunctionType) -> set[str]:
    """Names the function reads from its module that are neither builtins nor itself."""
    found: set[str] = set()

    def visit(code: CodeType) -> None:
        stored = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_NAME"}
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval not in stored:
                found.add(instruction.argval)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                visit(constant)

    visit(function.__code__)
    allowed = set(dir(builtins)) | {function.__name__, "__name__"}
    return found - allowed
