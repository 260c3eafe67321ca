"""The two interpreters that run kernels on a CPU, and the lowering that checks them for a TPU.

Every kernel here takes `interpret` and hands it to `pl.pallas_call`:

    interpret=MATHEMATICS        the grid becomes a loop; checks what a kernel computes
    interpret=tpu()              simulates a TPU's memories; checks that it would compute it there, too
    interpret=False              for `lower`, and for a real TPU
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

Interpret = bool | pltpu.InterpretParams
"""What `interpret` may be."""

MATHEMATICS = True


class RaceError(RuntimeError):
    """The interpreter saw two accesses of one buffer of which nothing says which comes first."""


def tpu(
    *, races: bool = False, seed: int | None = None, cores: int = 1, zeros: bool = False, recorder: Any = None
) -> pltpu.InterpretParams:
    """The interpreter that simulates a TPU.

    It raises for blocks outside of an array and for an output block that is left and comes back; memory that
    nobody wrote holds NaN (zeros if `zeros`); axes declared parallel run in an order drawn from `seed`, over
    `cores`. With `races` it also looks for data races: call `check_races` after the kernel ran. `recorder` is
    called with `(token, grid_point, core)` for each step, in order, and returns the token.
    """
    wanted = {
        "detect_races": races,
        "random_seed": seed,
        "num_cores_or_threads": cores,
        "uninitialized_memory": "zero" if zeros else "nan",
        "grid_point_recorder": recorder,
        "on_race": "warn",  # JAX 0.12 can raise by itself; 0.10 only takes a note, so both do that here
    }
    fields = {field.name for field in dataclasses.fields(pltpu.InterpretParams)}
    return pltpu.InterpretParams(**{name: value for name, value in wanted.items() if name in fields})


def check_races() -> None:
    """Raise `RaceError` if the interpreter noted a race since the last `reset`. The details were printed."""
    from jax._src.pallas.mosaic.interpret import interpret_pallas_call

    if getattr(interpret_pallas_call.races, "races_found", False):
        raise RaceError("two accesses of one buffer race: the output above says which")


def reset() -> None:
    """Forget simulated memory and noted races, as one must after an exception in the simulated TPU."""
    pltpu.reset_tpu_interpret_mode_state()


def v5e() -> contextlib.AbstractContextManager[Any]:
    """Within it, lowering and `pltpu.emit_pipeline` know which TPU is meant: a v5e."""
    device = AbstractDevice(device_kind="TPU v5e", num_cores=1, platform="tpu")
    return use_abstract_mesh(AbstractMesh((), (), abstract_device=device))


def lower(function: Callable[..., Any], *arguments: Any) -> str:
    """Lower a function for a TPU, without one, and return the text. Raises what the lowering raises.

    Kernels in it must have `interpret=False`. This checks that blocks are legal and operations supported; it
    knows nothing about how much memory there is.
    """
    with v5e():
        traced = jax.jit(function).trace(*arguments)
        return traced.lower(lowering_platforms=("tpu",)).as_text()


def block_of(size: int, wanted: int) -> int:
    """The block size along a dimension: `wanted`, or the whole dimension where that is smaller.

    Legal on a TPU if `wanted` is a multiple of 8 (of 128 for the last dimension).
    """
    return min(size, wanted)


__all__ = [
    "MATHEMATICS",
    "Interpret",
    "RaceError",
    "block_of",
    "check_races",
    "lower",
    "pl",
    "pltpu",
    "reset",
    "tpu",
    "v5e",
]
