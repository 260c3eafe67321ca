"""JAX in a worker: both interpreters, lowering for a TPU, limits; and a zygote that may miss a module."""

from __future__ import annotations

import pytest

from autograder import handout
from autograder.faults import GraderFault
from autograder.kit import probe
from autograder.kit.student import SandboxedStudent
from autograder.kit.verdicts import Ended, StudentError
from autograder.project import ROOT, Assignment, names
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Limits

JAX_PYTHON = ROOT / ".venv-worker-jax" / "bin" / "python"
PRELOAD = ["jax", "jax.experimental.pallas.tpu", "a_module_that_is_not_there?"]

pytestmark = pytest.mark.skipif(not JAX_PYTHON.exists(), reason="`make setup` makes this environment")


@pytest.fixture
def jax_student(tmp_path, open_to_workers):
    """A worker that has JAX."""
    open_to_workers(tmp_path)
    sandbox = _sandbox(tmp_path, PRELOAD)
    student = SandboxedStudent(lambda: sandbox.open(Limits(seconds=60, memory_mib=768, hang_seconds=8)))
    yield student
    student.close()
    sandbox.close()


def _sandbox(tmp_path, preload):
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir(mode=0o755)
    scratch.mkdir()
    return Sandbox(JAX_PYTHON, work, scratch, preload=preload)


@probe
def kernels() -> dict[str, str]:
    """A kernel in both interpreters, lowered for a TPU, and one that a TPU would not run."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def double(x, interpret, order=lambda i: (i, 0)):
        def kernel(x_ref, y_ref):
            y_ref[...] = 2 * x_ref[...]

        spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
        out = pl.BlockSpec((8, 128), order)
        return pl.pallas_call(kernel, out_shape=x, grid=(4,), in_specs=[spec], out_specs=out, interpret=interpret)(
            x
        )

    x = jnp.ones((32, 128))
    said = {
        "mathematics": str(float(double(x, True).sum())),
        "tpu": str(float(double(x, pltpu.InterpretParams()).sum())),
    }
    lowered = jax.jit(lambda x: double(x, False)).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    said["lowered"] = str("tpu_custom_call" in lowered)
    try:
        jax.block_until_ready(double(x, pltpu.InterpretParams(), order=lambda i: (i % 2, 0)))
        said["revisit"] = "nothing"
    except Exception as error:
        said["revisit"] = "Revisited block" if "Revisited block" in str(error) else str(error)
    return said


def test_a_worker_runs_kernels_and_lowers_them(jax_student):
    got = jax_student(kernels)
    assert got == {"mathematics": "8192.0", "tpu": "8192.0", "lowered": "True", "revisit": "Revisited block"}
    assert not jax_student.asked_again


@probe
def pool() -> int:
    """How many threads JAX was told it may use."""
    import os

    return int(os.environ["NPROC"])


def test_the_pool_has_more_than_one_thread(jax_student):
    assert jax_student(pool) >= 2


@probe
def hoard(mib) -> float:
    """Allocate an array in JAX."""
    import jax.numpy as jnp

    return float(jnp.ones((mib, 1024, 256), "float32").sum())


def test_memory_is_limited(jax_student):
    with pytest.raises((StudentError, Ended)) as failure:
        jax_student(hoard, 4096)
    assert "memory" in str(failure.value).lower() or "signal" in str(failure.value).lower()


def test_a_module_that_must_be_there_is_missed(tmp_path):
    with pytest.raises(GraderFault, match="a_module_that_is_not_there"):
        _sandbox(tmp_path, ["a_module_that_is_not_there"])


@pytest.mark.parametrize("name", names())
def test_starters_with_jax_require_it_and_set_it_up(name):
    assignment = Assignment(name)
    made = handout.files(assignment)
    uses_jax = assignment.facts.worker.environment == "worker-jax"
    assert ("jax" in made["requirements.txt"].decode()) is uses_jax
    assert ("NPROC" in made["conftest.py"].decode()) is uses_jax
    assert b"@" not in made["conftest.py"] + made["requirements.txt"]
