"""Where tests are costly, a bug is graded by the tests that its file concerns, and those are shown to be all."""

from __future__ import annotations

import shutil

import pytest

from autograder import grading, results, samples, validate
from autograder.manifest import ManifestError
from autograder.project import ROOT, Assignment


@pytest.fixture
def scoped(tmp_path):
    """a1_tracer whose chaff has a scope for one file."""

    def make(scope):
        for name in ("assignments", "solutions", "starter", "grading_tests"):
            shutil.copytree(ROOT / name / "a1_tracer", tmp_path / name / "a1_tracer")
        (tmp_path / ".venv-worker").symlink_to(ROOT / ".venv-worker")
        path = tmp_path / "grading_tests" / "a1_tracer" / "chaff.toml"
        path.write_text(f"[scope]\n{scope}\n" + path.read_text("utf-8"), "utf-8")
        return Assignment("a1_tracer", root=tmp_path)

    return make


def test_only_some_tests_run(scoped):
    assignment = scoped('"minijax/bucketing.py" = ["3.*"]')
    graded = grading.grade(assignment, assignment.solution, seed=1, only=["3.*"])
    assert graded.results
    assert {result.number.split(".")[0] for result in graded.results} == {"3"}
    assert all(result.outcome == "passed" for result in graded.results)


def test_a_scope_is_for_a_file_that_students_write(scoped):
    assignment = scoped('"minijax/core.py" = ["3.*"]')
    with pytest.raises(ManifestError, match=r"core\.py"):
        samples.scopes_of(assignment)


def test_a_scope_that_is_too_small_or_too_large_is_noticed(scoped, tmp_path):
    assignment = scoped('"minijax/bucketing.py" = ["3.*"]')
    without = tmp_path / "without"
    samples.make_without(assignment, "minijax/bucketing.py", without)
    graded = grading.grade(assignment, without, seed=1, only=["3.*", "1.*"])
    failed = [result.number for result in graded.results if result.outcome != "passed"]
    assert failed
    assert not validate._only_these_fail(failed, graded)
    assert "'not started'" in validate._only_these_fail(failed[1:], graded)
    assert "'passed'" in validate._only_these_fail([*failed, "1.1"], graded)


def test_numbers_match_patterns():
    assert results.is_among("4.12", ["3.*", "4.*"])
    assert not results.is_among("4.12", ["4.1", "3.*"])
    assert not results.is_among("4.12", [])
