"""minixla: an optimising compiler for a small HLO.

    import minixla

    module = minixla.program("gelu_layer")
    module, changed = minixla.cse.run(module)
    print(minixla.print_module(module))

Modules of the package and the public names are imported when first used (PEP 562). So
`import minixla` runs none of the files that are being written, and a mistake in one of them is
met only by whoever uses it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {
    "hlo": ("Shape", "TupleShape", "Literal", "Instruction", "Computation", "Module", "Names", "instruction"),
    "errors": ("HloError", "StructureError", "ShapeError", "KernelError", "EvaluationError", "ParseError"),
    "text": ("parse", "print_module", "print_computation", "print_instruction", "dump_name"),
    "verifier": ("verify", "verify_kernels"),
    "interpret": ("evaluate", "run_kernels", "equations"),
    "roofline": ("Machine", "TPU7X_CORE"),
    "programs": ("program",),
    "builder": ("Builder",),
    "lower_jaxpr": ("lower",),
    "cost_analysis": ("cost",),
    "pipeline": ("optimize",),
}
_SUBMODULES = (
    *_NAMES,
    *("algebraic_simplifier", "constant_folding", "cse", "dce", "fusion", "rematerialization"),
    *("buffer_assignment", "memory_space"),
)
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"minixla has no {name!r}; dir(minixla) lists what it has.")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_SUBMODULES})
