"""What students hand in, in all the ways they do, and what is made of it."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from autograder import intake
from autograder.manifest import Manifest, Part

FACTS = Manifest(
    id="a0",
    title="",
    package="pkg",
    student_files=["pkg/one.py", "pkg/two.py"],
    given_files=["pkg/__init__.py"],
    parts=[Part("1", "", 100)],
    allowed_imports=[],
    notebook="a0.ipynb",
)
FILES = {"pkg/one.py": b"x = 1\n", "pkg/two.py": b"y = 2\n", "a0.ipynb": b"{}"}


def folder_of(tmp_path: Path, files: dict[str, bytes]) -> Path:
    """A folder that holds these files."""
    root = tmp_path / "submission"
    root.mkdir()
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def zip_of(tmp_path: Path, files: dict[str, bytes]) -> Path:
    """A zip that holds these files."""
    path = tmp_path / "submission.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(params=[folder_of, zip_of], ids=["folder", "zip"])
def hand_in(request, tmp_path):
    """Both ways to hand something in."""
    return lambda files: intake.read(request.param(tmp_path, files), FACTS)


def test_all_files_are_taken_without_a_word(hand_in):
    taken = hand_in(FILES)
    assert (taken.files, taken.notes) == (FILES, [])


def test_one_nested_folder_and_junk_do_not_matter(hand_in):
    nested = {f"hand in/a0/{name}": content for name, content in FILES.items()}
    junk = {
        "__MACOSX/hand in/._one.py": b"\0",
        "hand in/.DS_Store": b"\0",
        "hand in/a0/pkg/__pycache__/one.pyc": b"",
    }
    taken = hand_in({**nested, **junk})
    assert (taken.files, taken.notes) == (FILES, [])


def test_the_wrong_case_of_a_name_is_forgiven_and_mentioned(hand_in):
    taken = hand_in({"Pkg/One.py": b"x = 1\n", "pkg/two.py": b"y = 2\n", "a0.ipynb": b"{}"})
    assert taken.files == FILES
    assert "upper and lower case" in " ".join(taken.notes)


def test_flat_files_are_taken_and_mentioned(hand_in):
    taken = hand_in({"one.py": b"x = 1\n", "two.py": b"y = 2\n", "a0.ipynb": b"{}"})
    assert taken.files == FILES
    assert any("keep the folders" in note for note in taken.notes)


def test_a_missing_file_is_named(hand_in):
    taken = hand_in({"pkg/one.py": b"x = 1\n", "a0.ipynb": b"{}", "pkg/two_final.py": b""})
    assert set(taken.files) == {"pkg/one.py", "a0.ipynb"}
    notes = " ".join(taken.notes)
    assert "pkg/two.py is missing" in notes
    assert "pkg/two_final.py" in notes


def test_foreign_files_are_ignored_and_mentioned(hand_in):
    extra = {
        "conftest.py": b"boom",
        "sitecustomize.py": b"boom",
        "pkg/numpy.py": b"boom",
        "pkg/__init__.py": b"boom",
    }
    taken = hand_in({**FILES, **extra})
    assert taken.files == FILES
    assert "conftest.py" in taken.notes[0]
    assert "sitecustomize.py" in taken.notes[0]
    assert "pkg/numpy.py" in taken.notes[0]


def test_a_byte_order_mark_goes_and_odd_line_ends_stay(hand_in):
    taken = hand_in({**FILES, "pkg/one.py": b"\xef\xbb\xbfx = 1\r\nif x:\r\n\ty = 2\r\n"})
    assert taken.files["pkg/one.py"] == b"x = 1\r\nif x:\r\n\ty = 2\r\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [("x = 'é'\n".encode("latin-1"), "not UTF-8"), ("x = 1\n".encode("utf-16"), "UTF-16"), (b"x = 1\0\n", "NUL")],
)
def test_text_in_another_encoding_is_mentioned(hand_in, content, words):
    taken = hand_in({**FILES, "pkg/one.py": content})
    assert any(words in note and "pkg/one.py" in note for note in taken.notes)


def test_a_file_too_large_is_left_out(hand_in):
    taken = hand_in({**FILES, "pkg/one.py": b"#" * (intake.MAX_FILE + 1)})
    assert "pkg/one.py" not in taken.files
    assert any("larger than" in note for note in taken.notes)


@pytest.mark.parametrize("files", [{}, {"__MACOSX/x": b""}])
def test_an_empty_submission_says_so(hand_in, files):
    taken = hand_in(files)
    assert taken.files == {}
    assert "empty" in taken.notes[0]


def test_the_whole_starter_zipped_again(hand_in):
    others = dict.fromkeys(
        ("README.md", "Makefile", "tests/test_1.py", "autograder/wire.py", "pkg/__init__.py"), b""
    )
    taken = hand_in({f"a0/{name}": content for name, content in {**FILES, **others}.items()})
    assert (taken.files, taken.notes) == (FILES, [])


def test_symbolic_links_in_a_folder_are_not_followed(tmp_path):
    root = folder_of(tmp_path, {"pkg/one.py": b"x = 1\n", "a0.ipynb": b"{}"})
    (root / "pkg/two.py").symlink_to("/etc/passwd")
    taken = intake.read(root, FACTS)
    assert "pkg/two.py" not in taken.files
    assert any("symbolic link" in note for note in taken.notes)


def test_symbolic_links_in_a_zip_are_not_followed(tmp_path):
    path = zip_of(tmp_path, {"pkg/one.py": b"x = 1\n", "a0.ipynb": b"{}"})
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo("pkg/two.py")
        entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    taken = intake.read(path, FACTS)
    assert "pkg/two.py" not in taken.files
    assert any("symbolic link" in note for note in taken.notes)


@pytest.mark.parametrize("name", ["../pkg/two.py", "/pkg/two.py", "pkg/../../two.py", "C:\\pkg\\two.py"])
def test_paths_that_leave_the_submission_are_left_out(tmp_path, name):
    taken = intake.read(zip_of(tmp_path, {"pkg/one.py": b"x = 1\n", name: b"y = 2\n"}), FACTS)
    assert "pkg/two.py" not in taken.files
    assert any("points outside" in note for note in taken.notes)


def test_a_name_twice_in_a_zip_is_refused(tmp_path):
    path = zip_of(tmp_path, FILES)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("pkg/one.py", b"x = 2\n")
    taken = intake.read(path, FACTS)
    assert taken.files == {}
    assert "twice" in taken.notes[0]


def test_a_bomb_is_refused(tmp_path):
    taken = intake.read(zip_of(tmp_path, {**FILES, "big.txt": b"\0" * (intake.MAX_TOTAL + 1)}), FACTS)
    assert taken.files == {}
    assert "unpacks to more" in taken.notes[0]


def test_too_many_entries_are_refused(tmp_path):
    taken = intake.read(zip_of(tmp_path, {f"f{i}": b"" for i in range(intake.MAX_ENTRIES + 1)}), FACTS)
    assert "entries" in taken.notes[0]


def test_a_truncated_zip_is_refused(tmp_path):
    path = zip_of(tmp_path, FILES)
    path.write_bytes(path.read_bytes()[:60])
    taken = intake.read(path, FACTS)
    assert taken.files == {}
    assert "not a zip file" in taken.notes[0]


def test_a_damaged_entry_costs_that_file_only(tmp_path):
    path = zip_of(tmp_path, {**FILES, "pkg/two.py": bytes(range(256)) * 20})
    data = bytearray(path.read_bytes())
    place = data.index(b"pkg/two.py") + len("pkg/two.py") + 8
    data[place : place + 40] = b"\xff" * 40
    path.write_bytes(bytes(data))
    taken = intake.read(path, FACTS)
    assert set(taken.files) == {"pkg/one.py", "a0.ipynb"}
    assert any("pkg/two.py" in note and "zip" in note for note in taken.notes)


def test_a_file_that_is_no_zip_is_refused(tmp_path):
    path = tmp_path / "essay.docx"
    path.write_bytes(b"not a zip")
    assert "not a zip file" in intake.read(path, FACTS).notes[0]


def test_an_encrypted_entry_costs_that_file_only(tmp_path):
    buffer = io.BytesIO(zip_of(tmp_path, FILES).read_bytes())
    data = bytearray(buffer.getvalue())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature)
        data[place + offset] |= 1
    path = tmp_path / "locked.zip"
    path.write_bytes(bytes(data))
    taken = intake.read(path, FACTS)
    assert "pkg/one.py" not in taken.files
    assert "pkg/two.py" in taken.files
