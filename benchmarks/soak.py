"""How often the interpreter of TPU memories hangs: many workers, each with one kernel, forked as in grading.

    taskset -c 0 python -m benchmarks.soak 500        # on one core
    python -m benchmarks.soak 500                     # on all

Prints the runs, how many workers hung, and the median seconds of a run.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from autograder.kit import probe
from autograder.kit.student import SandboxedStudent
from autograder.kit.verdicts import Ended
from autograder.project import ROOT, Assignment
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Limits


@probe
def product(seed) -> str:
    """A product of 8 grid steps on the simulated TPU, with a seed for the order of parallel axes."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def kernel(a_ref, b_ref, y_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            y_ref[...] = jnp.zeros_like(y_ref)

        y_ref[...] += jnp.dot(a_ref[...], b_ref[...])

    a = jnp.ones((16, 256))
    y = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32),
        grid=(2, 2, 2),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, 128), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i, j, k: (i, j)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=pltpu.InterpretParams(random_seed=seed),
    )(a, jnp.ones((256, 256)))
    assert float(y.sum()) == 16 * 256 * 256
    return jax.__version__


def main(runs: int) -> None:
    """Fork so many workers, one after the other."""
    facts = Assignment("a5_pallas").facts
    limits = Limits(seconds=120, memory_mib=facts.worker.memory_mib, hang_seconds=facts.worker.hang_seconds)
    mended, ended, seconds, version = 0, 0, [], ""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        work, scratch = Path(folder) / "work", Path(folder) / "scratch"
        work.mkdir()
        scratch.mkdir()
        python = ROOT / ".venv-worker-jax" / "bin" / "python"
        sandbox = Sandbox(python, work, scratch, preload=facts.worker.preload)
        for seed in range(runs):
            student, started = SandboxedStudent(lambda: sandbox.open(limits)), time.monotonic()
            try:
                version = student(product, seed)
            except Ended as stopped:
                ended += 1
                print(f"run {seed}: {stopped.text}", flush=True)
            mended += student.asked_again
            seconds.append(time.monotonic() - started)
            student.close()
        sandbox.close()
    cores = len(os.sched_getaffinity(0))
    print(
        f"JAX {version}, {cores} cores: {runs} runs, {mended} workers hung and were replaced, {ended} runs ended "
        f"without an answer, median {statistics.median(seconds):.2f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
