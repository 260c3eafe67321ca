"""From a kernel plan to a module with fusions, and back.

Both directions only move instructions about: what is stored and what is recomputed, the plan says
(see `kernels.py`). A kernel becomes a fusion, or stays a lone instruction if it is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from .hlo import Computation, Instruction, Module, Names, TupleShape, instruction
from .hlo import parameter as make_parameter
from .kernels import BETWEEN, FUSIBLE, Kernel, KernelPlan, kernel_kind, read_from_outside, runs_alone


def build_fusions(plan: KernelPlan) -> Module:
    """The module with a fusion for each kernel of more than one instruction; kernels that nobody reads go.

    Raises ValueError if a value that is returned, or read by what runs alone, is stored by no kernel.
    """
    return _Builder(plan).build()


class _Builder:
    """Writes the new entry, and a computation for each fusion."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.written: list[Instruction] = list(plan.entry.parameters)
        self.now = {it.name: it.name for it in self.written}  # old names to new
        self.bodies: list[Computation] = []
        self.names = Names(it.name for it in plan.entry.instructions)
        self.computation_names = Names(each.name for each in plan.module.computations)

    def build(self) -> Module:
        """The whole module."""
        plan = self.plan
        bodies, results = self._results()
        for number, body in enumerate(bodies):
            if not body:
                continue
            work = [it for it in body if it.opcode != "constant"]
            if len(work) == 1:
                self._write_alone(work[0])
            else:
                self._write_fusion(body, results[number])
        self._write_between([plan.entry.root])
        entry = Computation(plan.entry.name, tuple(self.written), self.now[plan.entry.root])
        return plan.module.with_computations([*self.bodies, entry])

    def _results(self) -> tuple[list[tuple[Instruction, ...]], list[list[str]]]:
        """The body of each kernel, empty if nobody needs it, and what others read of it: from the end."""
        plan = self.plan
        needed = plan.stored_behind([plan.entry.root])
        bodies: list[tuple[Instruction, ...]] = [()] * len(plan.kernels)
        results: list[list[str]] = [[]] * len(plan.kernels)
        for number in reversed(range(len(plan.kernels))):
            kernel = plan.kernels[number]
            results[number] = [name for name in kernel.stores if name in needed]
            if results[number] or kernel.alone:
                bodies[number] = plan.body(number, results[number])
                needed |= plan.stored_behind(read_from_outside(bodies[number]))
        return bodies, results

    def _write_between(self, names: Iterable[str]) -> None:
        """Make sure that values are there at this point of the entry, without a kernel."""
        waiting = list(names)
        while waiting:
            it = self.plan.entry[waiting[-1]]
            missing = [operand for operand in it.operands if operand not in self.now]
            if it.name in self.now:
                waiting.pop()
            elif it.opcode not in BETWEEN or it.name in self.plan.home:
                raise ValueError(
                    f"%{it.name} ({it.opcode}) is read between kernels, but no kernel before has stored it; "
                    f"add it to what a kernel stores."
                )
            elif missing:
                waiting.extend(missing)
            else:
                self.written.append(it.renamed(self.now))
                self.now[waiting.pop()] = it.name

    def _write_alone(self, it: Instruction) -> None:
        self._write_between(it.operands)
        self.written.append(it.renamed(self.now))
        self.now[it.name] = it.name

    def _write_fusion(self, body: tuple[Instruction, ...], results: list[str]) -> None:
        """The fused computation, the fusion, and the elements of its result if it has several."""
        entry = self.plan.entry
        reads = read_from_outside(body)
        self._write_between(reads)
        names = Names(it.name for it in body)
        inside = {read: names.fresh(f"param_{number}") for number, read in enumerate(reads)}
        instructions = [
            make_parameter(inside[read], number, entry[read].array_shape) for number, read in enumerate(reads)
        ]
        instructions += [it.renamed(inside) for it in body]
        root, shape = results[0], entry[results[0]].shape
        if len(results) > 1:
            root, shape = names.fresh("tuple"), TupleShape(tuple(entry[name].array_shape for name in results))
            instructions.append(instruction(root, "tuple", shape, results))
        computation = Computation(self.computation_names.fresh("fused_computation"), tuple(instructions), root)
        self.bodies.append(computation)
        opcodes = dict.fromkeys(entry[name].opcode for name in results[-2:])
        name = self.names.fresh(f"{'_'.join(opcodes)}_fusion")
        operands = [self.now[read] for read in reads]
        kind = kernel_kind(body)
        self.written.append(instruction(name, "fusion", shape, operands, kind=kind, calls=computation.name))
        self.now[results[0]] = name
        for index, result in enumerate(results if len(results) > 1 else ()):
            element = self.names.fresh("get-tuple-element")
            it = instruction(element, "get-tuple-element", entry[result].shape, (name,), index=index)
            self.written.append(it)
            self.now[result] = element


def open_fusions(module: Module) -> KernelPlan:
    """The plan that a fused module follows: its fusions opened, each storing what it returns.

    The inverse of `build_fusions`, up to names.
    """
    entry = module.entry_computation
    names = Names(it.name for it in entry.instructions)
    opened: list[Instruction] = []
    kernels: list[Kernel] = []
    now: dict[str, str] = {}
    elements: dict[str, list[str]] = {}  # of an opened fusion that has several results
    for it in entry.instructions:
        if it.opcode == "fusion" and _can_be_opened(module.called(it)):
            body = module.called(it)
            inside = {each.name: now.get(at, at) for each, at in zip(body.parameters, it.operands, strict=True)}
            for each in body.instructions:
                if each.opcode != "parameter" and (each.opcode != "tuple" or each.name != body.root):
                    inside[each.name] = names.fresh(each.name)
                    operands = tuple([inside[name] for name in each.operands])
                    opened.append(each.replace(name=inside[each.name], operands=operands))
            results = [inside[name] for name in body.outputs]
            kernels.append(Kernel(tuple(results)))
            if isinstance(it.shape, TupleShape):
                elements[it.name] = results
                opened.append(instruction(it.name, "tuple", it.shape, results))
            else:
                now[it.name] = results[0]
        elif it.opcode == "get-tuple-element" and it.operands[0] in elements:
            now[it.name] = elements[it.operands[0]][it.attribute("index")]
        else:
            opened.append(it.renamed(now))
            if it.opcode not in BETWEEN:
                kernels.append(Kernel((it.name,), runs_alone(it)))
    root = now.get(entry.root, entry.root)
    return KernelPlan(module.with_entry(opened, root), kernels)


def _can_be_opened(body: Computation) -> bool:
    """Whether each result of a fusion is a value of its own that it computes."""
    results = body.outputs
    computed = all(body[name].opcode in FUSIBLE for name in results)
    return computed and len(set(results)) == len(results)
