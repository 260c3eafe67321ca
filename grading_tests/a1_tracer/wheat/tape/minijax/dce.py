"""Dead-code elimination: drop the equations that no result depends on.

Transformations are written simply and leave waste behind (the gradient by a constant, say);
this pass takes it away before a program runs. A variable is live if it is a result, or an
operand of an equation whose own variable is live. One walk from the last equation to the
first decides, because every use of a variable comes after its definition.
"""

from __future__ import annotations

from .core import Eqn, Jaxpr, Var


def dead_code_elimination(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with live equations only, in the same order.

    The invars stay, used or not: they are the calling convention. `jaxpr` is not changed.
    """
    live = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
    kept: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.outvar in live:
            kept.append(eqn)
            live.update(atom for atom in eqn.invars if isinstance(atom, Var))
    return Jaxpr(jaxpr.invars, tuple(reversed(kept)), jaxpr.outvars, jaxpr.constvars, jaxpr.consts)
