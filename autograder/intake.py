"""From what was handed in to a clean work folder.

Only the files that students write are taken from a submission; everything else comes from the starter. A
submission is only ever read, as bytes: nothing of it is run, imported or unpacked to a path it chose.
"""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath

import msgspec

from autograder.manifest import Manifest

MEBIBYTE = 1 << 20
MAX_FILE = 1 * MEBIBYTE
MAX_TOTAL = 64 * MEBIBYTE
MAX_ENTRIES = 5_000
_JUNK = {
    ".hypothesis",
    "__MACOSX",
    ".DS_Store",
    "__pycache__",
    ".git",
    ".ipynb_checkpoints",
    ".venv",
    ".pytest_cache",
    "Thumbs.db",
}
_MENTION_AT_MOST = 8


class Unreadable(ValueError):
    """A submission that cannot be opened as a whole; the message is a sentence for the student."""


class Intake(msgspec.Struct):
    """What was taken in: the work folder's files by name, and sentences for the student."""

    files: dict[str, bytes]
    notes: list[str]


def read(submission: Path, facts: Manifest) -> Intake:
    """Pick the student's files out of a folder or a zip; never raises for a bad submission.

    A submission that cannot be opened counts as empty, with a note that says why.
    """
    wanted = [*facts.student_files, *([facts.notebook] if facts.notebook else [])]
    notes: list[str] = []
    try:
        names = _zip_names(submission, notes) if submission.is_file() else _folder_names(submission, notes)
        chosen = _choose(names, wanted, notes)
        source = _read_zip if submission.is_file() else _read_folder
        files = source(submission, chosen, notes)
    except Unreadable as error:
        return Intake({}, [f"Nothing could be graded: {error}"])
    _mention_strangers(names, set(chosen.values()), facts, notes)
    return Intake(files, notes)


def lay_out(intake: Intake, facts: Manifest, starter: Path, work: Path) -> None:
    """Fill `work`: given files and stubs from the starter, then the student's files over them."""
    for name in [*facts.given_files, *facts.student_files]:
        _write(work / name, (starter / name).read_bytes())
    for name in facts.support:
        _write(work / name, (starter / "tests" / name).read_bytes())
    for name, content in intake.files.items():
        if name in facts.student_files:
            _write(work / name, content)
    for path in [work, *work.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _folder_names(folder: Path, notes: list[str]) -> list[str]:
    names = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if _JUNK & set(relative.parts):
            continue
        if path.is_symlink():
            notes.append(f"{relative} is a symbolic link and was not followed.")
        elif path.is_file():
            names.append(relative.as_posix())
        if len(names) > MAX_ENTRIES:
            raise Unreadable(f"the folder holds more than {MAX_ENTRIES:,} files.")
    return names


def _zip_names(path: Path, notes: list[str]) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeError) as error:
        raise Unreadable(
            f"{path.name} is not a zip file that can be opened ({error}). Make it again with `make submission`."
        ) from None
    if len(entries) > MAX_ENTRIES:
        raise Unreadable(f"the zip holds {len(entries):,} entries; {MAX_ENTRIES:,} are allowed.")
    if sum(entry.file_size for entry in entries) > MAX_TOTAL:
        raise Unreadable(f"the zip unpacks to more than {MAX_TOTAL // MEBIBYTE} MiB.")
    names: list[str] = []
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        if entry.is_dir() or _JUNK & set(parts):
            continue
        if stat.S_ISLNK(entry.external_attr >> 16):
            notes.append(f"{entry.filename} is a symbolic link and was not followed.")
        elif entry.filename.startswith("/") or "\\" in entry.filename or ".." in parts or ":" in entry.filename:
            notes.append(f"{entry.filename} points outside the submission and was left out.")
        elif entry.filename in names:
            raise Unreadable(f"the zip holds {entry.filename} twice, so it is unclear which one counts.")
        else:
            names.append(entry.filename)
    return names


def _choose(names: list[str], wanted: list[str], notes: list[str]) -> dict[str, str]:
    """Which entry serves each wanted file: below the one folder that holds most of them."""
    if not names:
        raise Unreadable("the submission is empty. Hand in the files you edited, or the zip of `make submission`.")
    by_case = {name.lower(): name for name in reversed(names)}

    def serves(prefix: str) -> dict[str, str]:
        exact = {file: prefix + file for file in wanted if prefix + file in names}
        near = {file: by_case[(prefix + file).lower()] for file in wanted if (prefix + file).lower() in by_case}
        return near | exact

    folders = {""}
    for name in names:
        for file in wanted:
            if name.lower().endswith("/" + file.lower()):
                folders.add(name[: -len(file)])
    chosen = max((serves(folder) for folder in sorted(folders, key=lambda f: (f.count("/"), f))), key=len)
    flat = {PurePosixPath(name).name: name for name in reversed(names)}
    for file in wanted:
        entry = chosen.get(file)
        if (
            entry is None
            and PurePosixPath(file).name in flat
            and flat[PurePosixPath(file).name] not in chosen.values()
        ):
            entry = chosen[file] = flat[PurePosixPath(file).name]
            notes.append(f"{entry} was taken for {file}: keep the folders as they are in the starter.")
        elif entry is None:
            notes.append(f"{file} is missing; its stub from the starter was graded instead.")
        elif not entry.endswith(file):
            notes.append(f"{entry} was taken for {file}: mind upper and lower case in file names.")
    return chosen


def _accept(name: str, content: bytes, notes: list[str]) -> bytes:
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    if b"\0" in content and not name.endswith(".ipynb"):
        kind = "UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "a file with NUL bytes"
        notes.append(f"{name} is {kind}, not text that Python can read: save it as UTF-8.")
    else:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            notes.append(
                f"{name} is not UTF-8 (byte 0x{content[error.start]:02x} in line {line}): save it as UTF-8."
            )
    return content


def _read_folder(folder: Path, chosen: dict[str, str], notes: list[str]) -> dict[str, bytes]:
    files = {}
    for file, name in chosen.items():
        with (folder / name).open("rb") as handle:
            content = handle.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            notes.append(f"{name} is larger than {MAX_FILE // MEBIBYTE} MiB and was left out.")
        else:
            files[file] = _accept(name, content, notes)
    return files


def _read_zip(path: Path, chosen: dict[str, str], notes: list[str]) -> dict[str, bytes]:
    files = {}
    with zipfile.ZipFile(path) as archive:
        for file, name in chosen.items():
            try:
                with archive.open(name) as handle:
                    content = handle.read(MAX_FILE + 1)
            except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
                notes.append(f"{name} cannot be read from the zip ({error}); its stub was graded instead.")
                continue
            except Exception as error:  # zlib.error and friends have no common base
                notes.append(f"{name} is damaged in the zip ({error}); its stub was graded instead.")
                continue
            if len(content) > MAX_FILE:
                notes.append(f"{name} is larger than {MAX_FILE // MEBIBYTE} MiB and was left out.")
            else:
                files[file] = _accept(name, content, notes)
    return files


def _mention_strangers(names: list[str], used: set[str], facts: Manifest, notes: list[str]) -> None:
    """Say which files were ignored, unless they belong to the starter anyway."""
    ours = {PurePosixPath(file).name for file in [*facts.given_files, *facts.support]}
    ours |= {"Makefile", "README.md", "requirements.txt", "assignment.toml", "pytest.ini", "__init__.py"}
    strangers = [
        name
        for name in names
        if name not in used
        and PurePosixPath(name).name not in ours
        and not {"tests", "autograder", "figures"} & set(PurePosixPath(name).parts[:-1])
    ]
    if strangers:
        shown = ", ".join(strangers[:_MENTION_AT_MOST])
        more = f" and {len(strangers) - _MENTION_AT_MOST} more" if len(strangers) > _MENTION_AT_MOST else ""
        notes.append(f"Ignored, for they are not files of this assignment: {shown}{more}.")
