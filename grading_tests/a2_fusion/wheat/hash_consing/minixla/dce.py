"""Dead-code elimination by small steps: three rules, used until none applies.

1. An instruction that nobody reads, and that does nothing beside, goes.
2. A result of a fusion that nobody takes goes; a single result that is left is no tuple any more.
3. A parameter of a fusion's body that nobody reads goes, and the operand with it.

Each step can make room for others only next to it, and these are put on a list of what is to be
looked at again. Nothing is decided globally: there is no notion of what is live. (Values cannot keep
each other alive in a ring, since operands come before users; so the fixed point leaves nothing dead.)
Each fusion works on its own copy of its body.
"""

from __future__ import annotations

from collections import Counter

from .hlo import Computation, Instruction, Module, Names, TupleShape, has_side_effect
from .kernels import kernel_kind

CALLER = ""  # the reader of a root


def run(module: Module) -> tuple[Module, bool]:
    """Remove what is dead; also say whether anything has changed. A second run changes nothing."""
    effective: set[str] = set()
    for each in module.computations:
        if any(has_side_effect(it) or it.attribute("calls") in effective for it in each.instructions):
            effective.add(each.name)
    entry = _Graph(module, module.entry_computation, effective)
    entry.settle()
    bodies = _Bodies(module)
    trimmed = bodies.computation(entry)
    result = module.with_computations([*bodies.written.values(), trimmed])
    return (result, True) if result != module else (module, False)


class _Graph:
    """A computation from which instructions can be taken away."""

    def __init__(self, module: Module, computation: Computation, effective: set[str]) -> None:
        self.old = computation
        self.is_entry = computation.name == module.entry
        self.effective = effective
        self.its = dict(computation.by_name)
        self.root = computation.root
        self.readers: dict[str, dict[str, None]] = {name: dict.fromkeys(users) for name, users in computation.users().items()}
        self.readers[self.root][CALLER] = None
        self.bodies = {
            it.name: _Graph(module, module.called(it), effective)
            for it in computation.instructions
            if it.opcode == "fusion"
        }
        self.waiting = list(self.its)

    def settle(self) -> None:
        """Use the rules until none applies."""
        while self.waiting:
            name = self.waiting.pop()
            it = self.its.get(name)
            if it is None:
                continue
            if not self.readers[name] and not self.stays(it):
                self.remove(it)
            elif it.opcode == "fusion":
                self.drop_results(it)
                self.bodies[name].settle()
                self.drop_operands(self.its[name])

    def stays(self, it: Instruction) -> bool:
        """Whether it must be there even if nobody reads it. (A body's parameters go by rule 3.)"""
        return it.opcode == "parameter" or has_side_effect(it) or it.attribute("calls") in self.effective

    def remove(self, it: Instruction) -> None:
        """Rule 1."""
        del self.its[it.name], self.readers[it.name]
        for name in dict.fromkeys(it.operands):
            self.unread(name, it.name)

    def unread(self, name: str, reader: str) -> None:
        """A reader of a value has gone: look at the value again."""
        if name in self.readers:
            self.readers[name].pop(reader, None)
            self.waiting.append(name)

    def drop_results(self, it: Instruction) -> None:
        """Rule 2, if all readers take single results."""
        readers, body = self.readers[it.name], self.bodies[it.name]
        root = body.its[body.root]
        takers = [self.its[name] for name in readers if name != CALLER]
        if CALLER in readers or root.opcode != "tuple" or any(t.opcode != "get-tuple-element" for t in takers):
            return
        wanted = sorted({taker.attribute("index") for taker in takers}) or [0]
        if len(wanted) == len(root.operands) > 1:
            return
        assert isinstance(it.shape, TupleShape)
        shapes = tuple(it.shape.elements[index] for index in wanted)
        body.cut_results(wanted)
        if len(wanted) > 1:
            self.its[it.name] = it.replace(shape=TupleShape(shapes))
            for taker in takers:
                self.its[taker.name] = taker.with_attributes(index=wanted.index(taker.attribute("index")))
            return
        self.its[it.name] = it.replace(shape=shapes[0])
        for taker in takers:
            self.put_in_place_of(taker, it.name)

    def cut_results(self, wanted: list[int]) -> None:
        """Leave only these elements of the root, which is a tuple."""
        root = self.its[self.root]
        names = tuple(root.operands[index] for index in wanted)
        if len(wanted) == 1:
            self.unread(root.name, CALLER)
            self.root = names[0]
            self.readers[self.root][CALLER] = None
            return
        shapes = tuple(self.its[name].array_shape for name in names)
        self.its[root.name] = root.replace(operands=names, shape=TupleShape(shapes))
        for name in set(root.operands) - set(names):
            self.unread(name, root.name)

    def put_in_place_of(self, old: Instruction, new: str) -> None:
        """Let the readers of one value read another."""
        for reader in self.readers[old.name]:
            if reader == CALLER:
                self.root = new
            else:
                self.its[reader] = self.its[reader].renamed({old.name: new})
            self.readers[new][reader] = None
        self.readers[old.name] = {}
        self.waiting.append(old.name)

    def drop_operands(self, it: Instruction) -> None:
        """Rule 3."""
        body = self.bodies[it.name]
        parameters = sorted(
            (each for each in body.its.values() if each.opcode == "parameter"), key=lambda each: each.attribute("index")
        )
        left = [each for each in parameters if body.readers[each.name]]
        if len(left) == len(parameters):
            return
        operands = tuple(it.operands[each.attribute("index")] for each in left)
        for each in parameters:
            if not body.readers[each.name]:
                del body.its[each.name], body.readers[each.name]
        for number, each in enumerate(left):
            body.its[each.name] = each.with_attributes(index=number)
        self.its[it.name] = it.replace(operands=operands)
        for name in set(it.operands) - set(operands):
            self.unread(name, it.name)


class _Bodies:
    """Gives what is left of fusions' bodies names; equal ones get one."""

    def __init__(self, module: Module) -> None:
        self.calls = Counter({module.entry: 1})
        for each in reversed(module.computations):
            for it in each.instructions:
                self.calls[it.attribute("calls") or ""] += self.calls[each.name]
        self.names = Names(each.name for each in module.computations)
        self.written: dict[tuple[str, tuple[Instruction, ...], str], Computation] = {}

    def computation(self, graph: _Graph) -> Computation:
        """What is left of a computation, its fusions calling what is left of theirs."""
        its = dict(graph.its)
        for name, it in graph.its.items():
            if it.opcode == "fusion":
                body = self.name(graph.bodies[name])
                if body.instructions != graph.bodies[name].old.instructions or body.root != graph.bodies[name].old.root:
                    its[name] = it.with_attributes(calls=body.name, kind=kernel_kind(body.instructions))
        return Computation(graph.old.name, tuple(its.values()), graph.root)

    def name(self, graph: _Graph) -> Computation:
        """The computation to call for a body."""
        old, new = graph.old, self.computation(graph)
        if new == old:
            return old
        key = old.name, new.instructions, new.root
        if key not in self.written:
            self.written[key] = new.replace(name=self.names.fresh(old.name)) if self.calls[old.name] > 1 else new
        return self.written[key]
