"""From a submission to a report: what students see, what they never see, and what a fault of ours does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder import grading, project, report, samples
from autograder.faults import GraderFault
from autograder.sandbox import host
from autograder.sandbox.limits import Defences

TINY_SOLUTION = '''"""Twice and half."""


def twice(x):
    """2x, as an array like x."""
    ### BEGIN SOLUTION a0.1: double it
    doubled_with_a_plus = x + x
    return doubled_with_a_plus
    ### END SOLUTION
'''
TINY_MANIFEST = """
id = "a0_tiny"
title = "Tiny"
package = "tiny"
student_files = ["tiny/code.py"]
given_files = ["tiny/__init__.py"]
allowed_imports = ["numpy"]
[worker]
seconds = 2
[[part]]
number = "1"
title = "Twice"
points = 100
"""
TINY_TEST = '''"""A tiny test."""

import numpy as np
from autograder.kit import check, hint, number, probe, weight


@probe
def doubled(x) -> np.ndarray:
    """twice of x."""
    from tiny.code import twice

    return twice(x)


@number("1.{n}")
@weight({weight})
@hint("Add x to itself. Handout, part 1.")
def test_{name}(student, rng):
    """doubling {name}"""
    x = rng.normal(size=3)
    check.close(student(doubled, x), 2 * x, ulps=1)
'''


@pytest.fixture
def tiny(tmp_path: Path) -> project.Assignment:
    """A complete assignment of one function, with its environments borrowed from the suite."""
    for name, text in {
        "assignments/a0_tiny/assignment.toml": TINY_MANIFEST,
        "assignments/a0_tiny/handout.md": "# Tiny\n",
        "solutions/a0_tiny/tiny/code.py": TINY_SOLUTION,
        "solutions/a0_tiny/tiny/__init__.py": "",
        "grading_tests/a0_tiny/visible/test_1.py": TINY_TEST.format(n=1, weight=60, name="visible"),
        "grading_tests/a0_tiny/hidden/test_1_hidden.py": TINY_TEST.format(n=2, weight=40, name="hidden"),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".venv-worker").symlink_to(project.ROOT / ".venv-worker")
    assignment = project.Assignment("a0_tiny", root=tmp_path)
    samples.copy_starter(assignment, assignment.starter)
    return assignment


def submission(tmp_path: Path, code: str) -> Path:
    """A submission with this code."""
    folder = tmp_path / "handed_in" / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "code.py").write_text(code)
    return folder.parent


def results(tiny: project.Assignment, path: Path, **options: Any) -> dict[str, Any]:
    """Gradescope's results of a submission, after a trip through JSON."""
    graded = grading.grade(tiny, path, seed=7, **options)
    return json.loads(json.dumps(report.gradescope(graded), allow_nan=False))


def test_the_solution_gets_everything(tiny):
    got = results(tiny, tiny.solution)
    assert [test["score"] for test in got["tests"]] == [60, 40]
    assert [test["visibility"] for test in got["tests"]] == ["visible", "after_published"]
    assert got["output"].startswith("**60 of 60 visible points**; 40 more are graded by hidden tests.")
    assert got["stdout_visibility"] == "hidden"


def test_the_starter_reads_not_started(tiny):
    got = results(tiny, tiny.starter)
    assert [test["score"] for test in got["tests"]] == [0, 0]
    assert got["tests"][0]["output"] == "Not started: a0.1: double it"


def test_a_wrong_value_is_explained_where_it_is_visible_and_nowhere_else(tiny, tmp_path):
    got = results(tiny, submission(tmp_path, "def twice(x):\n    print('hello')\n    return x * 2.001\n"))
    visible, hidden = (test["output"] for test in got["tests"])
    for part in (
        "expected: f64[3]",
        "got:      f64[3]",
        "3 of 3 values are wrong",
        "asked:    twice of x",
        "hint:",
    ):
        assert part in visible
    assert "printed:  hello" in visible
    assert hidden == "This hidden test did not pass.\nLook at: Add x to itself. Handout, part 1."


def test_a_result_that_is_right_but_not_good_enough_earns_a_part(tiny, tmp_path):
    test = TINY_TEST.format(n=1, weight=60, name="visible")
    test = test.replace(
        "    check.close(", "    check.within(7, full=5, none=10, what='the steps')\n    check.close("
    )
    (tiny.tests / "visible" / "test_1.py").write_text(test)
    visible, hidden = results(tiny, tiny.solution)["tests"]
    assert [visible["score"], visible["status"], hidden["score"]] == [36, "failed", 40]
    assert "at most 5" in visible["output"]
    assert "60% of the points" in visible["output"]


def test_an_exception_shows_the_students_own_lines(tiny, tmp_path):
    code = "def helper(x):\n    return x.nothing\n\n\ndef twice(x):\n    return helper(x)\n"
    got = results(tiny, submission(tmp_path, code))
    assert "AttributeError" in got["tests"][0]["output"]
    assert "tiny/code.py:2 in helper\n      return x.nothing" in got["tests"][0]["output"]
    assert "AttributeError" not in got["tests"][1]["output"]


def test_an_exception_cannot_carry_hidden_inputs_out(tiny, tmp_path):
    code = "def twice(x):\n    raise ValueError(f'LEAK {x!r}')\n"
    got = results(tiny, submission(tmp_path, code))
    assert "LEAK" in got["tests"][0]["output"]
    assert "LEAK" not in got["tests"][1]["output"]


def test_a_file_that_does_not_parse_is_shown_with_a_caret(tiny, tmp_path):
    got = results(tiny, submission(tmp_path, "def twice(x):\n    return (x +\n"))
    assert "tiny/code.py does not parse, line 2" in got["output"]
    assert "^" in got["output"]
    assert len(got["tests"]) == 2
    assert "could not be imported" in got["tests"][0]["output"]


def test_a_forbidden_import_is_a_verdict(tiny, tmp_path):
    got = results(tiny, submission(tmp_path, "import jax\n\n\ndef twice(x):\n    return x + x\n"))
    assert got["tests"][0]["score"] == 0
    assert "No module named 'jax'" in got["tests"][0]["output"]


def test_a_zip_that_cannot_be_opened_keeps_every_test(tiny, tmp_path):
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 and then nothing")
    got = results(tiny, broken)
    assert [test["score"] for test in got["tests"]] == [0, 0]
    assert "Nothing could be graded" in got["output"]


def test_one_seed_gives_one_result(tiny, tmp_path):
    path = submission(tmp_path, "def twice(x):\n    return x * 2.001\n")
    first, second = results(tiny, path), results(tiny, path)
    assert first["tests"][0]["output"] == second["tests"][0]["output"]


def test_a_submission_over_its_time_keeps_the_tests_before(tiny, tmp_path):
    facts = tiny.folder / "assignment.toml"
    facts.write_text(facts.read_text().replace("seconds = 2", "seconds = 2\ntotal_seconds = 0.5"))
    again = project.Assignment("a0_tiny", root=tiny.root)
    got = results(
        again, submission(tmp_path, "import time\n\n\ndef twice(x):\n    time.sleep(1)\n    return x + x\n")
    )
    assert [test["score"] for test in got["tests"]] == [60, 0]
    assert got["tests"][1]["extra_data"]["outcome"] == "not run"


def test_a_check_that_breaks_gives_no_score(tiny):
    path = tiny.tests / "hidden" / "test_1_hidden.py"
    path.write_text(path.read_text().replace("    x = rng", "    {}['nothing']\n    x = rng"))
    with pytest.raises(GraderFault, match=r"test_hidden.*KeyError"):
        grading.grade(tiny, tiny.solution, seed=7)


def test_a_check_that_cannot_be_collected_gives_no_score(tiny):
    (tiny.tests / "visible" / "test_1.py").write_text("import nothing_of_the_kind\n")
    with pytest.raises(GraderFault, match="nothing_of_the_kind"):
        grading.grade(tiny, tiny.solution, seed=7)


def test_a_tolerance_that_zeros_would_pass_gives_no_score(tiny):
    path = tiny.tests / "visible" / "test_1.py"
    path.write_text(path.read_text().replace("ulps=1", "relative=1.5"))
    with pytest.raises(GraderFault, match="lets zeros pass"):
        grading.grade(tiny, tiny.solution, seed=7)


def test_a_zygote_that_dies_gives_no_score(tiny, monkeypatch):
    opened = host.Sandbox.open

    def kill_first(self, limits):
        os.kill(self.pid, signal.SIGKILL)
        return opened(self, limits)

    monkeypatch.setattr(host.Sandbox, "open", kill_first)
    with pytest.raises(GraderFault, match="zygote"):
        grading.grade(tiny, tiny.solution, seed=7)


def test_a_worker_without_disk_is_told_so(tiny, tmp_path):
    code = "def twice(x):\n    open('big', 'wb').write(bytes(40 << 20))\n    return x + x\n"
    got = results(tiny, submission(tmp_path, code))
    assert got["tests"][0]["score"] == 0
    assert "SIGXFSZ" in got["tests"][0]["output"] or "File too large" in got["tests"][0]["output"]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    line = [sys.executable, "-m", "autograder", *arguments]
    return subprocess.run(line, cwd=project.ROOT, capture_output=True, text=True, check=False)


def test_the_command_line_says_what_is_wrong_with_its_arguments(tmp_path):
    done = command("grade", "a9_nothing", str(tmp_path))
    assert done.returncode == 2
    assert "there is no assignment 'a9_nothing'" in done.stderr
    done = command("grade", "a1_tracer", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "does not exist" in done.stderr


def test_without_a_user_for_the_worker_nothing_is_for_credit(tiny):
    graded = grading.grade(tiny, tiny.solution, seed=7, defences=Defences(uid=False))
    assert graded.score == 100
    assert not graded.for_credit
    assert "Not for credit" in report.gradescope(graded)["output"]


def test_a_suite_inside_a_folder_called_hidden_shows_its_visible_tests(tiny, tmp_path):
    inside = tmp_path / "hidden" / "suite"
    for name in ("assignments", "solutions", "starter", "grading_tests"):
        shutil.copytree(tiny.root / name, inside / name)
    (inside / ".venv-worker").symlink_to(project.ROOT / ".venv-worker")
    moved = project.Assignment("a0_tiny", root=inside)
    assert [test["visibility"] for test in results(moved, moved.solution)["tests"]] == [
        "visible",
        "after_published",
    ]
