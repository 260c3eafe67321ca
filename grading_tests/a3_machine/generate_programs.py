"""Lowers the named kernels with the reference solution: writes `minitpu/programs/*.json`.

    python grading_tests/a3_machine/generate_programs.py

The files are given to students, and the judge uses them; they come out the same byte for byte.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "a3_machine"


def main() -> None:
    """Write one file for each kernel and number of tiles."""
    sys.path.insert(0, str(SOLUTION))
    from minitpu.isa import TEACHING
    from minitpu.kernels import KERNELS
    from minitpu.lowering import lower
    from minitpu.programs import FOLDER, NAMES, TILES

    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        for tiles in TILES:
            data = {"machine": "teaching", **lower(KERNELS[name], TEACHING, tiles).to_data()}
            (FOLDER / f"{name}_{tiles}.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
