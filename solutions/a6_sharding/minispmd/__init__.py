"""minispmd: name the axes of a mesh, cut arrays along them, and move the pieces.

`minispmd.shard` and the other public names are imported when first used (PEP 562). So `import minispmd` runs
none of the files that are being written, and a mistake in one of them is met only by whoever uses it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {
    "errors": (
        "SpecError",
        "ReplicaError",
        "CollectiveError",
        "Deadlock",
        "CollectiveMismatch",
        "ProgramError",
        "ShardMapError",
        "ScheduleError",
        "NoPlan",
    ),
    "mesh": ("Mesh",),
    "topology": ("Torus",),
    "fabric": ("Fabric", "Device", "this_device"),
    "traffic": ("Traffic", "measure", "finish_time"),
    "program": (
        *("AllGather", "AllReduce", "ReduceScatter", "AllToAll", "Permute", "Slice", "Dot"),
        *("State", "matmul_state", "apply", "check_program", "permute_pairs", "in_words"),
    ),
    "graph": ("Graph", "GraphBuilder", "Rule", "DimSharding", "Decision", "Conflict", "Propagated"),
    "schedule": ("CollectiveMatmul", "SendBlock", "Receive", "DotBlock", "simulate"),
    "hardware": ("Links", "TPU_LINKS", "Chip", "Gpt", "GPT2_MEDIUM", "Span", "Plan"),
    "show": ("mesh_map", "ring_timeline"),
    "spec": (
        *("PartitionSpec", "P", "axes_of", "check_spec", "local_shape", "replication"),
        *("device_indices", "shard", "unshard"),
    ),
    "partition": ("sent_bytes", "reshard", "partition_matmul", "execute"),
    "propagate": ("sharding_rule", "propagate"),
    "shard_map": ("shard_map", "axis_index", "psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"),
    "cost": (
        *("hops", "collective_seconds", "halved_seconds", "torus_bound", "two_phase_seconds"),
        *("parameter_count", "sharded_parameter_count", "device_parameters"),
        *("train_state_bytes", "gradient_bytes", "activation_bytes"),
    ),
    "planner": ("step_timeline", "plan"),
    "overlap": ("collective_matmul",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"minispmd has no {name!r}; dir(minispmd) lists what it has.")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """A package where a public function wins over the submodule of the same name.

    Importing the submodule `minispmd.shard_map` makes Python set the attribute `shard_map` of this package to
    that module; here it becomes the function `shard_map` instead.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
