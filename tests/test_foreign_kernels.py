"""The checks of kernels accept kernels that nobody here wrote: JAX's own flash and splash attention.

`foreign_kernels/` puts them behind the interface of the assignment, and they must get all points of the tests of
what they implement. Left out are, of flash attention, lengths that no block divides (5.2, 5.5, 5.7: JAX's kernel
refuses XX
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder import grading, samples
from autograder.project import Assignment

FLASH = ["5.1", "5.6", "5.8", "5.9", "5.10"]  # JAX's kernel refuses lengths that no block divides
SPLASH = ["6.4", "6.5", "6.7", "6.8", "6.10"]


@pytest.fixture
def assignment() -> Assignment:
    """The assignment, where its workers' environment is there."""
    found = Assignment("a5_pallas")
    if not found.worker_python.exists():
        pytest.skip("`make setup` makes the environment with JAX")
    return found


@pytest.mark.parametrize(("name", "tests"), [("flash", FLASH), ("splash", SPLASH)])
def test_kernels_of_jax_get_full_marks(assignment, tmp_path, monkeypatch, name, tests):
    samples.copy_solution(assignment, tmp_path)
    shutil.copy(Path(__file__).with_name("foreign_kernels") / f"{name}.py", tmp_path / "pallas_kernels")
    monkeypatch.setenv("TPULAB_PATIENCE", "4")  # these kernels are compiled for the simulated TPU every time
    graded = grading.grade(assignment, tmp_path, seed=20260223, only=tests)
    assert sorted(result.number for result in graded.results) == sorted(tests)
    lost = {result.number: result.worst.message for result in graded.results if result.score < result.weight}
    assert lost == {}
