"""From solution to stub: what stands between the marks is replaced by what is left to do.

    ### BEGIN SOLUTION a1.4: pull the cotangents back
    ...
    ### END SOLUTION

An indented region becomes `raise NotImplementedError("a1.4: pull the cotangents back")`; a region at
column 0 (the student's own helpers) becomes a comment. Both say about how many lines the solution took.
"""

from __future__ import annotations

import re

import msgspec

_BEGIN = re.compile(r"^(\s*)### BEGIN SOLUTION (\S+: .+?)\s*$")
_END = re.compile(r"^\s*### END SOLUTION\s*$")


class MarkError(ValueError):
    """Marks that do not pair up; the message gives file and line."""


class Region(msgspec.Struct, frozen=True):
    """A marked region: 0-based index of its BEGIN and END lines, its indent and its task."""

    begin: int
    end: int
    indent: str
    task: str


def regions(source: str, name: str = "") -> list[Region]:
    """The marked regions of a file. Raises `MarkError` for marks that are malformed or do not pair up."""
    found: list[Region] = []
    begin: tuple[int, str, str] | None = None
    for index, line in enumerate(source.splitlines()):
        start = _BEGIN.match(line)
        if start:
            if begin is not None:
                raise MarkError(f"{name}:{index + 1}: a region begins inside another")
            begin = (index, start.group(1), start.group(2))
        elif _END.match(line):
            if begin is None:
                raise MarkError(f"{name}:{index + 1}: a region ends that never began")
            found.append(Region(begin[0], index, begin[1], begin[2]))
            begin = None
        elif "BEGIN SOLUTION" in line or "END SOLUTION" in line:
            raise MarkError(f"{name}:{index + 1}: write `### BEGIN SOLUTION a1.2: what is to do`")
    if begin is not None:
        raise MarkError(f"{name}:{begin[0] + 1}: a region never ends")
    return found


def _size(lines: list[str]) -> str:
    count = sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))
    return "1 line" if count == 1 else f"{count} lines"


def strip(source: str, name: str = "") -> str:
    """The file as students get it."""
    lines = source.splitlines()
    out: list[str] = []
    position = 0
    for region in regions(source, name):
        out += lines[position : region.begin]
        size = _size(lines[region.begin + 1 : region.end])
        if region.indent:
            out.append(f"{region.indent}# about {size}")
            out.append(f'{region.indent}raise NotImplementedError("{region.task}")')
        else:
            out.append(f"# {region.task} (about {size})")
        position = region.end + 1
    out += lines[position:]
    return "\n".join(out) + "\n"


def outside(source: str, name: str = "") -> list[str]:
    """The lines that students get unchanged."""
    lines = source.splitlines()
    inside = {i for region in regions(source, name) for i in range(region.begin, region.end + 1)}
    return [line for index, line in enumerate(lines) if index not in inside]


def solution_lines(source: str, name: str = "") -> set[str]:
    """The lines inside regions that say something: long enough not to occur elsewhere by chance."""
    lines = source.splitlines()
    inside = (line.strip() for region in regions(source, name) for line in lines[region.begin + 1 : region.end])
    return {line for line in inside if len(line) > 24}
