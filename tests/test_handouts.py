"""Handouts tell the truth: their commands run, their output is what the solution prints, their numbers add up."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder import handout, handout_text, notebook, project, samples, stubs
from autograder.manifest import ManifestError
from autograder.project import Assignment

NAMES = [name for name in project.names() if (Assignment(name).folder / notebook.SOURCE).is_file()]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = ("jaxpr", "text")

# Executes code blocks in one namespace and prints, as JSON, what each of them printed.
EXECUTE = """
import contextlib, io, json, sys
printed, names = [], {"__name__": "handout"}
for number, block in enumerate(json.load(sys.stdin)):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(block, f"<python block {number} of the handout>", "exec"), names)
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


@pytest.fixture(params=NAMES, scope="module")
def assignment(request: pytest.FixtureRequest) -> Assignment:
    """Each assignment that has a handout to check."""
    return Assignment(request.param)


def text_of(assignment: Assignment) -> str:
    """The handout."""
    return handout_text.text(assignment)


def prose_of(text: str) -> str:
    """The handout without its code blocks."""
    return FENCE.sub("", text)


def sections(text: str) -> dict[str, str]:
    """The handout's parts by number: heading and text."""
    pieces = re.split(r"^(?=## )", prose_of(text), flags=re.MULTILINE)
    found = {match[1]: piece for piece in pieces if (match := re.match(r"## Part (\w+):", piece))}
    assert found, "the handout has no heading of the form `## Part 1: title (12 points)`"
    return found


def student_files(assignment: Assignment) -> dict[str, bytes]:
    """What students get, the notebook included."""
    made = handout.files(assignment)
    if assignment.facts.notebook:
        made.setdefault(assignment.facts.notebook, notebook.build(assignment, answered=False))
    return made


def commands(text: str, marked: bool) -> Iterator[str]:
    """The lines of shell blocks; only of those that are marked to run (```sh run), or of all."""
    for block in FENCE.finditer(text):
        if block["info"] == "sh run" or (block["info"] == "sh" and not marked):
            yield from block["body"].splitlines()


# What students can type.


@pytest.fixture(scope="module")
def solved(assignment: Assignment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A starter whose gaps are filled, with an environment for make that is this interpreter."""
    folder = tmp_path_factory.mktemp(assignment.id)
    samples.copy_starter(assignment, folder)
    for name in assignment.facts.student_files:
        (folder / name).write_bytes((assignment.solution / name).read_bytes())
    if assignment.facts.notebook:
        (folder / assignment.facts.notebook).write_bytes(notebook.build(assignment, answered=True))
    (folder / "environment").mkdir()
    (folder / "environment" / "ready").touch()
    return folder


def every_command() -> list[tuple[str, str]]:
    """The marked commands of each handout."""
    return [(name, line) for name in NAMES for line in commands(text_of(Assignment(name)), marked=True)]


@pytest.mark.parametrize(("assignment", "line"), every_command(), indirect=["assignment"])
def test_marked_commands_run(assignment: Assignment, solved: Path, line: str, environment_for: Any) -> None:
    words = line.split()
    if words[0] == "make":
        words += ["ENV=environment", f"RUN={sys.executable}"]
    else:
        assert words[:2] == ["python", "-m"], "a marked line starts with `make` or `python -m`"
        words[0] = sys.executable
    # A whole part passes or fails elsewhere, all tests need to run but once: here the command must find its tests.
    whole_part = re.search(r"\btest_\d", line) is not None or (line == "make test" and assignment.id != NAMES[0])
    env = {**environment_for(assignment), "PYTEST_ADDOPTS": "--collect-only" if whole_part else ""}
    done = subprocess.run(
        words, cwd=solved, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_every_make_target_and_variable_exists(assignment: Assignment) -> None:
    makefile = student_files(assignment)["Makefile"].decode()
    inline = re.findall(r"`(make [^`]*)`", prose_of(text_of(assignment)))
    for line in [*commands(text_of(assignment), marked=False), *inline]:
        if line.startswith("make "):
            _, target, *settings = line.split()
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{line}: no such target"
            for setting in settings:
                assert f"$({setting.split('=')[0]})" in makefile, f"{line}: the Makefile has no such variable"


def test_each_part_says_how_to_test_it(assignment: Assignment, solved: Path) -> None:
    text = text_of(assignment)
    for part in assignment.facts.parts:
        start = re.search(rf"^## Part {part.number}:", text, re.MULTILINE)
        assert start, f"part {part.number} has no section"
        section = re.split(r"^## ", text[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]
        (command,) = [line for line in commands(section, marked=True) if line.startswith("make test")]
        match = re.fullmatch(r"make test T=(\w+)", command)
        assert match, f"part {part.number}: {command}"
        files = {path.stem for path in (solved / "tests").glob("test_*.py")}
        chosen = {name for name in files if match[1] in name}
        mine = {name for name in files if name.startswith(f"test_{part.number}_")}
        assert chosen == mine, f"{command} runs {sorted(chosen)}, not {sorted(mine)}"
        assert f'@number("{part.number}.' in (solved / "tests" / f"{chosen.pop()}.py").read_text("utf-8")


# The pieces that handouts share.


@pytest.mark.parametrize(
    "line, said",
    [
        ("{{how_to_rum part=test_1 name=x}}", r"no piece 'how_to_rum'; there are: how_to_run"),
        ("{{how_to_run part=test_1}}", r"\{\{how_to_run\}\} needs name="),
    ],
)
def test_a_line_that_stands_for_no_piece_is_refused(tmp_path: Path, line: str, said: str) -> None:
    for name in (NAMES[0], "handout_pieces"):
        shutil.copytree(project.ROOT / "assignments" / name, tmp_path / "assignments" / name)
    copied = Assignment(NAMES[0], root=tmp_path)
    (copied.folder / "handout.md").write_text(f"# A handout\n\n{line}\n", "utf-8")
    with pytest.raises(ManifestError, match=said):
        handout_text.text(copied)


# What the handout shows.


def test_printed_output_is_what_the_solution_prints(assignment: Assignment, environment_for: Any) -> None:
    blocks = list(FENCE.finditer(text_of(assignment)))
    programs = [block for block in blocks if block["info"] == "python"]
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE],
        input=json.dumps([block["body"] for block in programs]),
        cwd=assignment.solution,
        env=environment_for(assignment),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    printed = dict(zip((block.end() for block in programs), json.loads(done.stdout), strict=True))
    shown = {block.start() - 1: block["body"] for block in blocks if block["info"] in OUTPUT}
    compared = 0
    for end, output in printed.items():
        if output or end in shown:
            assert output == shown.get(end, ""), "the block after the code does not show what it prints"
            compared += 1
    assert compared > 0
    jaxprs = [block for block in blocks if block["info"] == "jaxpr"]
    assert all(block.start() - 1 in printed for block in jaxprs), "a jaxpr stands without the code that prints it"


def test_links_lead_somewhere(assignment: Assignment) -> None:
    text = re.sub(r"`[^`\n]*`", "", prose_of(text_of(assignment)))
    files = student_files(assignment)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    images = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text)
    assert all(words for words, _ in images), "an image has no description"
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not target.startswith("https://"):
            assert target in files, f"{target} is not among the student's files"
    unused = {name for name in files if name.endswith(".svg")} - {target for _, target in images}
    assert unused == set(), "figures that the handout does not show"


def test_figures_are_what_their_program_draws(assignment: Assignment) -> None:
    path = assignment.folder / "figures.py"
    spec = importlib.util.spec_from_file_location(f"figures_{assignment.id}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    committed = {path.name: path.read_bytes() for path in (assignment.folder / "figures").iterdir()}
    assert module.files() == committed


# What the handout says.


def test_points_are_those_of_the_assignment(assignment: Assignment) -> None:
    headings = re.findall(r"^## Part (\w+): .+ \((\d+) points\)$", text_of(assignment), re.MULTILINE)
    assert {number: float(points) for number, points in headings} == {
        part.number: part.points for part in assignment.facts.parts
    }
    rows = re.findall(r"^\| \[(\w+)\]\(#part-[^)]+\) \|.*\| (\d+) \|$", text_of(assignment), re.MULTILINE)
    assert rows == headings


def test_parts_say_what_the_student_needs(assignment: Assignment) -> None:
    for number, section in sections(text_of(assignment)).items():
        for item in ("**Interface.**", "**You may assume**", "**Deliverable.**", "**Test.**"):
            assert item in section, f"part {number} lacks {item}"


def test_hints_find_their_paragraph(assignment: Assignment) -> None:
    parts = sections(text_of(assignment))

    def leads(text: str) -> str:
        return " | ".join(re.findall(r"^#+ .+$|\*\*[^*]+\*\*", text, re.MULTILINE)).lower()

    for path in sorted(assignment.tests.glob("*/test_*.py")):
        for hint in re.findall(r"Handout, (.+?)\.\"", path.read_text("utf-8")):
            match = re.fullmatch(r"part (\w+)(?:, (.+))?", hint)
            where = leads(parts[match[1]]) if match else leads(prose_of(text_of(assignment)))
            topic = (match[2] if match else hint) or ""
            assert topic.lower() in where, f"{path.name}: no paragraph or heading called {topic!r} for {hint!r}"


def test_sizes_of_the_gaps_are_right(assignment: Assignment) -> None:
    rows = re.findall(r"^\| `([\w/]+\.py)` \|.*\| (\d+) \|$", text_of(assignment), re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(assignment.facts.student_files)
    for name, said in rows:
        source = (assignment.solution / name).read_text("utf-8")
        lines = source.splitlines()
        inside = [line for region in stubs.regions(source) for line in lines[region.begin + 1 : region.end]]
        counted = sum(1 for line in inside if line.strip() and not line.strip().startswith("#"))
        assert abs(counted - int(said)) <= max(2, 0.1 * counted), f"{name} has {counted} lines, not {said}"


def test_every_exception_and_its_fields_are_named(assignment: Assignment) -> None:
    path = assignment.solution / assignment.facts.package / "errors.py"
    if not path.is_file():
        pytest.skip("the package has no exceptions of its own")
    text = prose_of(text_of(assignment))
    for body in re.split(r"^class ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name = re.match(r"\w+", body)
        assert name
        row = re.search(rf"^\| `{name[0]}`.*$", text, re.MULTILINE)
        assert row, f"the handout does not mention {name[0]}"
        for field in re.findall(r"self\.(\w+) = ", body):
            assert f"`{field}`" in row[0], f"the handout does not mention {name[0]}.{field}"


def test_limits_are_those_of_the_assignment(assignment: Assignment) -> None:
    text = " ".join(text_of(assignment).split())
    worker = assignment.facts.worker
    assert f"{worker.seconds:g} seconds and {worker.memory_mib} MiB" in text
