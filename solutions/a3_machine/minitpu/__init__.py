"""minitpu: a TPU core, cycle by cycle.

`minitpu.schedule` and the other public names are imported when first used (PEP 562). So
`import minitpu` runs none of the files that are being written, and a mistake in one of
them is met only by whoever uses it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "errors": (
        "LLOError",
        "MachineError",
        "SlotError",
        "OperandError",
        "ConflictError",
        "BusyError",
        "QueueError",
        "RegisterPressureError",
    ),
    "isa": ("MACHINES", "TOY", "TEACHING", "V6E", "MachineSpec", "Operation", "Timing", "parse"),
    "llo": ("Emitter", "Program"),
    "machine": ("one_at_a_time", "run"),
    "registers": ("live_registers",),
    "tiles": ("Step", "evaluate"),
    "kernels": ("KERNELS",),
    "programs": ("program",),
    "chips": ("IRONWOOD", "Chip"),
    "numerics": ("round_to_bf16", "dot", "exp_via_exp2"),
    "systolic": ("SystolicArray", "systolic_cycles", "utilisation"),
    "mxu": ("matmul_on_mxu", "tile_cycles", "tile_utilisation", "pushes_per_tile"),
    "lowering": ("lower",),
    "scheduler": ("dependence_graph", "lower_bounds", "schedule"),
    "pipeline": ("timeline", "top_level_program", "Kernel", "Copy"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"minitpu has no {name!r}; dir(minitpu) lists what it has.")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
