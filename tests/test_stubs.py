"""From solution to stub, and the manifest's and the marks' own errors."""

from __future__ import annotations

import pytest

from autograder import bundle, manifest, stubs

SOURCE = '''"""A module."""

### BEGIN SOLUTION a1.2: your helpers
def helper(x):
    return x + 1


### END SOLUTION


def double(x):
    """Twice x."""
    ### BEGIN SOLUTION a1.2: double it
    # a comment does not count
    y = helper(x) + x - 1  # a long line of the solution

    return y
    ### END SOLUTION
'''


def test_regions_become_stubs_that_say_what_is_to_do():
    stub = stubs.strip(SOURCE)
    assert "# a1.2: your helpers (about 2 lines)" in stub
    assert '    # about 2 lines\n    raise NotImplementedError("a1.2: double it")\n' in stub
    assert '"""Twice x."""' in stub
    assert "helper(x)" not in stub
    namespace: dict = {}
    exec(stub, namespace)
    with pytest.raises(NotImplementedError, match=r"a1\.2: double it"):
        namespace["double"](1)


def test_the_lines_that_must_not_leak_are_those_inside():
    assert stubs.solution_lines(SOURCE) == {
        "# a comment does not count",
        "y = helper(x) + x - 1  # a long line of the solution",
    }


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("### BEGIN SOLUTION a1.2: x\n", "never ends"),
        ("### END SOLUTION\n", "never began"),
        ("### BEGIN SOLUTION a1.2: x\n### BEGIN SOLUTION a1.2: y\n", "inside another"),
        ("### BEGIN SOLUTION\n### END SOLUTION\n", "write `### BEGIN SOLUTION"),
        ("    ## BEGIN SOLUTION a1.2: x\n", "write `### BEGIN SOLUTION"),
    ],
)
def test_marks_that_do_not_pair_up_are_refused_with_their_line(source, words):
    with pytest.raises(stubs.MarkError, match=words) as caught:
        stubs.regions(source, "file.py")
    assert "file.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing required field"),
        ("id = ", "not a valid assignment file"),
        ('id = "x"\ncolour = "red"', "unknown field|missing required"),
        (b"\xff\xfe", "not a valid assignment file"),
    ],
)
def test_a_malformed_manifest_gets_a_sentence(tmp_path, text, words):
    content = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "assignment.toml").write_bytes(content)
    with pytest.raises(manifest.ManifestError, match=words) as caught:
        manifest.load(tmp_path)
    assert "assignment.toml" in str(caught.value)


def test_a_missing_manifest_gets_a_sentence(tmp_path):
    with pytest.raises(manifest.ManifestError, match="does not exist"):
        manifest.load(tmp_path)


def test_zips_are_the_same_whenever_they_are_made():
    files = {"b": b"2", "a": b"1"}
    assert bundle.zip_bytes(files) == bundle.zip_bytes(dict(reversed(files.items())))


@pytest.mark.parametrize("text", ["", "twelve\n", "-3\n"])
def test_a_seed_file_without_a_number_is_refused_with_a_sentence(tmp_path, text):
    (tmp_path / bundle.SEED_FILE).write_text(text)
    with pytest.raises(manifest.ManifestError, match="must hold one number"):
        bundle.class_seed(tmp_path)


def test_the_class_seed_is_drawn_once(tmp_path):
    assert bundle.class_seed(tmp_path) == bundle.class_seed(tmp_path)
