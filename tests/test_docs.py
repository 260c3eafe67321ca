"""The documents do what they say: the five-minute test works as its page has it, and links lead somewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from autograder import grading, project, samples
from autograder.kit.table import points

DOCUMENTS = [project.ROOT / "README.md", *sorted((project.ROOT / "docs").glob("*.md"))]


def block(document: str, language: str, containing: str) -> str:
    """The fenced block of a document that holds some text."""
    text = (project.ROOT / "docs" / document).read_text("utf-8")
    found = [code for name, code in re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL) if name == language]
    return next(code for code in found if containing in code)


@pytest.fixture
def small(tmp_path: Path) -> project.Assignment:
    """a1_tracer with no test but the example of the page."""
    original = project.Assignment("a1_tracer")
    for name in ("assignments", "solutions", "starter"):
        shutil.copytree(project.ROOT / name / original.id, tmp_path / name / original.id)
    tests = tmp_path / "grading_tests" / original.id
    (tests / "visible").mkdir(parents=True)
    for path in original.tests.glob("*.py"):
        shutil.copy(path, tests)
    (tmp_path / ".venv-worker").symlink_to(project.ROOT / ".venv-worker")
    text = (project.ROOT / "docs" / "write_a_test.md").read_text("utf-8")
    name = re.search(r"grading_tests/a1_tracer/(visible/test_\w+\.py)", text)
    assert name is not None
    (tests / name[1]).write_text(block("write_a_test.md", "python", "@probe"))
    (tests / "chaff.toml").write_text(block("write_a_test.md", "toml", "[[chaff]]"))
    return project.Assignment(original.id, root=tmp_path)


def test_the_five_minute_test_passes_the_solution_and_notices_its_bug(small, tmp_path):
    good = grading.grade(small, small.solution, seed=1)
    assert [result.outcome for result in good.results] == ["passed"]
    (chaff,) = samples.chaff_of(small)
    bad = tmp_path / "bad"
    samples.make_chaff(small, chaff, bad)
    graded = grading.grade(small, bad, seed=1)
    assert [result.function.split("::")[-1] for result in graded.results] == chaff.fails
    assert graded.results[0].outcome == "failed"
    assert "the gradient" in graded.results[0].worst.message


def test_chaff_that_no_longer_fits_its_file_is_refused_with_a_sentence(small, tmp_path):
    (chaff,) = samples.chaff_of(small)
    stale = msgspec.structs.replace(chaff, find="nothing of the kind")
    with pytest.raises(samples.ManifestError, match="occurs 0 times"):
        samples.make_chaff(small, stale, tmp_path / "stale")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_make_targets_exist(document):
    text = document.read_text("utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (document.parent / link).exists(), link
    makefile = (project.ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"^\s*make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("name", project.names())
def test_readme_and_handout_say_how_many_points_are_visible(name):
    files = sorted((project.ROOT / "grading_tests" / name / "visible").glob("test_*.py"))
    weights = re.findall(r"^@weight\((.*)\)$", "".join(path.read_text("utf-8") for path in files), re.MULTILINE)
    visible = points(sum(map(float, weights)))
    assert re.search(rf"^\| `{name}` \|.*\| {visible} \|$", DOCUMENTS[0].read_text("utf-8"), re.MULTILINE)
    handout = (project.ROOT / "assignments" / name / "handout.md").read_text("utf-8")
    assert f"**Visible tests** are those in `tests/`, {visible} of the 100 points." in handout
