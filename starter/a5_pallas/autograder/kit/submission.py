"""`make submission`: the files you wrote, in a zip to hand in."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from autograder import manifest
from autograder.kit import gaps


def pack(root: Path) -> Path:
    """Write `<id>-submission.zip` into the starter folder. Raises `FileNotFoundError` for a missing file."""
    facts = manifest.load(root)
    target = root / f"{facts.id}-submission.zip"
    names = [*facts.student_files, *([facts.notebook] if facts.notebook else [])]
    missing = [name for name in names if not (root / name).is_file()]
    if missing:
        raise FileNotFoundError(f"not found: {', '.join(missing)}. Take the file from the starter again.")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.write(root / name, name)
    return target


if __name__ == "__main__":
    try:
        print(f"{pack(Path.cwd()).name} is ready to hand in.")
        print(gaps.sentence(Path.cwd(), manifest.load(Path.cwd())) or "Every gap is filled.")
    except (FileNotFoundError, manifest.ManifestError) as error:
        sys.exit(f"No submission was made: {error}")
