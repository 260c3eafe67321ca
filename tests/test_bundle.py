"""The Gradescope bundle, laid out and executed as there: setup.sh once, run_autograder per submission."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autograder import bundle, project, samples

NAMES = project.names()
SECRET_SEED = 424242
CANARY = "CANARY-in-the-metadata"

# Gradescope's specification of results.json, as far as this suite uses it.
SCHEMA = {
    "type": "object",
    "required": ["tests", "output", "output_format", "stdout_visibility", "execution_time", "extra_data"],
    "additionalProperties": False,
    "properties": {
        "output": {"type": "string", "maxLength": 100_000},
        "output_format": {"enum": ["text", "html", "simple_format", "md", "ansi"]},
        "stdout_visibility": {"const": "hidden"},
        "execution_time": {"type": "number"},
        "extra_data": {"type": "object"},
        "leaderboard": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "value"],
                "properties": {"name": {"type": "string"}, "value": {}, "order": {"enum": ["asc", "desc"]}},
                "additionalProperties": False,
            },
        },
        "tests": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "number", "score", "max_score", "status", "output", "visibility"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "number": {"type": "string"},
                    "score": {"type": "number", "minimum": 0},
                    "max_score": {"type": "number", "minimum": 0},
                    "status": {"enum": ["passed", "failed"]},
                    "output": {"type": "string", "maxLength": 10_000},
                    "output_format": {"enum": ["text", "html", "simple_format", "md", "ansi"]},
                    "visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}


def bundle_of(identity: str) -> bytes:
    """The zip that an instructor uploads."""
    files = bundle.gradescope_files(project.Assignment(identity), SECRET_SEED)
    return bundle.zip_bytes(files, bundle.EXECUTABLE)


@pytest.mark.parametrize("identity", NAMES)
def test_a_bundle_has_no_solution_and_is_the_same_when_made_again(identity):
    names = zipfile.ZipFile(io.BytesIO(bundle_of(identity))).namelist()
    assert {"setup.sh", "run_autograder"} <= set(names)
    assert not [name for name in names if "solutions" in name or "wheat" in name or "chaff" in name]
    assert bundle_of(identity) == bundle_of(identity)


def _places() -> list[tuple[str, str]]:
    """Which bundle is set up where: in a folder of our own, or in Gradescope's real one if it can be made.

    What is executed differs by environment only: one assignment of each, the last of them in the real place. With
    `TPULAB_EVERYTHING=1`, which `make validate` sets, every assignment in both.
    """
    real = ["/autograder"] if os.geteuid() == 0 and not Path("/autograder").exists() else []
    if os.environ.get("TPULAB_EVERYTHING"):
        return [(name, prefix) for name in NAMES for prefix in ["own", *real]]
    environments = {project.Assignment(name).facts.worker.environment: name for name in reversed(NAMES)}
    *others, last = sorted(environments.values())
    return [*((name, "own") for name in others), (last, (real or ["own"])[0])]


@pytest.fixture(scope="module", params=_places(), ids="-".join)
def gradescope(request, tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """An assignment and the folder in which its bundle was set up by running its setup.sh."""
    identity, where = request.param
    prefix = Path(where) if where.startswith("/") else tmp_path_factory.mktemp("gradescope") / "autograder"
    prefix.mkdir(parents=True)
    try:
        for folder in ("source", "results", "submission"):
            (prefix / folder).mkdir()
        archive = tmp_path_factory.mktemp("upload") / "autograder.zip"
        archive.write_bytes(bundle_of(identity))
        subprocess.run(["unzip", "-q", str(archive), "-d", str(prefix / "source")], check=True)
        shutil.copy(prefix / "source" / "run_autograder", prefix / "run_autograder")
        done = run(prefix, prefix / "source" / "setup.sh")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"tpulab: {identity} is set up" in done.stdout
        yield identity, prefix
    finally:
        shutil.rmtree(prefix, ignore_errors=True)


def run(prefix: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the bundle as Gradescope does, from the folder it happens to be in."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    if prefix != Path("/autograder"):
        environment["TPULAB_PREFIX"] = str(prefix)
    return subprocess.run([str(script)], env=environment, cwd="/", capture_output=True, text=True, check=False)


def graded(prefix: Path, files: dict[str, bytes]) -> dict[str, Any]:
    """Hand in these files and return the results, which must follow the specification."""
    shutil.rmtree(prefix / "submission")
    for name, content in files.items():
        path = prefix / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (prefix / "submission_metadata.json").write_text(json.dumps({"previous_submissions": [CANARY]}))
    done = run(prefix, prefix / "run_autograder")
    assert done.returncode == 0, done.stdout + done.stderr
    assert CANARY not in done.stdout + done.stderr
    results = json.loads((prefix / "results" / "results.json").read_text())
    jsonschema.validate(results, SCHEMA)
    return results


def submission_of(identity: str, make: Any) -> dict[str, bytes]:
    """What a maker of samples writes, by name."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        make(project.Assignment(identity), Path(folder))
        paths = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_solution_gets_full_marks(gradescope):
    identity, prefix = gradescope
    solution = submission_of(identity, samples.copy_solution)
    results = graded(prefix, {f"nested/{name}": content for name, content in solution.items()})
    assert sum(test["score"] for test in results["tests"]) == project.Assignment(identity).facts.points
    assert results["extra_data"]["seed"] == SECRET_SEED
    if os.geteuid() == 0:
        assert results["extra_data"]["for_credit"]
    assert {test["visibility"] for test in results["tests"]} == {"visible", "after_published"}


def test_the_starter_gets_nothing_and_a_second_run_the_same(gradescope):
    identity, prefix = gradescope
    starter = submission_of(identity, samples.copy_starter)
    first, second = graded(prefix, starter), graded(prefix, starter)
    assert sum(test["score"] for test in first["tests"]) == 0
    assert [test["output"] for test in first["tests"]] == [test["output"] for test in second["tests"]]


HOSTILE = """
import atexit, json, os, pathlib

def _cheat():
    everything = {"score": 100, "tests": [{"name": "all", "score": 100, "max_score": 100}]}
    for folder in ("/autograder", os.environ.get("TPULAB_PREFIX", "/autograder")):
        try:
            pathlib.Path(folder, "results/results.json").write_text(json.dumps(everything))
        except OSError:
            pass

atexit.register(_cheat)
_cheat()
for root in ("/autograder", "/tmp", "/"):
    try:
        print(root, os.listdir(root))
    except OSError:
        pass
for path in ("/autograder/submission_metadata.json", "/autograder/tpulab/class_seed"):
    try:
        print(open(path).read())
    except OSError:
        pass
"""


def test_a_hostile_submission_gets_nothing(gradescope):
    identity, prefix = gradescope
    facts = project.Assignment(identity).facts
    files = submission_of(identity, samples.copy_starter)
    first = facts.student_files[0]
    hostile = HOSTILE.replace("/autograder", str(prefix))
    files[first] = files[first] + hostile.encode()
    files["conftest.py"] = b"raise SystemExit('taken over')\n"
    results = graded(prefix, files)
    assert sum(test["score"] for test in results["tests"]) == 0
    text = json.dumps(results)
    assert CANARY not in text
    assert "taken over" not in text
    assert str(SECRET_SEED) not in "".join(test["output"] for test in results["tests"]) + results["output"]
    assert "conftest.py" in results["output"]


def test_a_broken_grader_writes_no_results(gradescope):
    identity, prefix = gradescope
    manifest = prefix / "tpulab" / "assignments" / identity / "assignment.toml"
    text = manifest.read_text()
    manifest.write_text("id = \n" + text)
    try:
        done = run(prefix, prefix / "run_autograder")
        assert done.returncode != 0
        assert "not a valid assignment file" in done.stderr
        assert not (prefix / "results" / "results.json").exists()
    finally:
        manifest.write_text(text)


def test_the_graders_files_are_closed_to_others(gradescope):
    _, prefix = gradescope
    for name in ("tpulab/grading_tests", "tpulab/class_seed", "source"):
        assert (prefix / name).stat().st_mode & 0o077 == 0, name
