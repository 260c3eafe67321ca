"""The zip that Gradescope unpacks, and zips in general: the same bytes whenever and wherever they are made."""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path

from autograder.manifest import FILE_NAME, ManifestError
from autograder.project import Assignment

TEMPLATES = Path(__file__).with_name("gradescope_files")
SEED_FILE = ".class_seed"
EXECUTABLE = frozenset({"setup.sh", "run_autograder"})
_TIME = (1980, 1, 1, 0, 0, 0)


def zip_bytes(files: Mapping[str, bytes], executable: frozenset[str] = frozenset()) -> bytes:
    """A zip of these files: sorted names, one fixed time, fixed modes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def class_seed(root: Path) -> int:
    """The secret seed of the class: drawn once, kept in a file that git ignores. Raises `ManifestError`."""
    path = root / SEED_FILE
    if not path.exists():
        path.write_text(f"{secrets.randbelow(2**32)}\n")
        path.chmod(0o600)
    return read_seed(path)


def read_seed(path: Path) -> int:
    """The number in a seed file. Raises `ManifestError` with a sentence if there is none."""
    text = path.read_text().strip() if path.is_file() else ""
    if not text.isdigit():
        raise ManifestError(f"{path} must hold one number, the class's secret seed; it holds {text[:40]!r}")
    return int(text)


def gradescope_files(assignment: Assignment, seed: int) -> dict[str, bytes]:
    """What Gradescope needs to grade an assignment; nothing of the solution, of wheat or of chaff."""
    facts, root = assignment.facts, assignment.root
    made: dict[str, bytes] = {}
    for name in EXECUTABLE:
        text = (TEMPLATES / name).read_text("utf-8")
        text = text.replace("@ID@", facts.id).replace("@ENVIRONMENT@", facts.worker.environment)
        made[name] = text.encode()
    made["tpulab/class_seed"] = f"{seed}\n".encode()
    for name in ("grader", "uv", facts.worker.environment):
        made[f"tpulab/requirements/{name}.txt"] = (root / "requirements" / f"{name}.txt").read_bytes()
    made[f"tpulab/assignments/{facts.id}/{FILE_NAME}"] = (assignment.folder / FILE_NAME).read_bytes()
    package = Path(__file__).parent
    sources = {f"tpulab/autograder/{p.relative_to(package).as_posix()}": p for p in package.rglob("*.py")}
    for name in [*facts.given_files, *facts.student_files, *(f"tests/{name}" for name in facts.support)]:
        sources[f"tpulab/starter/{facts.id}/{name}"] = assignment.starter / name
    for pattern in ("*.py", "visible/test_*.py", "hidden/test_*.py", "hidden/*.json"):
        for path in assignment.tests.glob(pattern):
            sources[f"tpulab/grading_tests/{facts.id}/{path.relative_to(assignment.tests).as_posix()}"] = path
    return made | {name: path.read_bytes() for name, path in sources.items()}
