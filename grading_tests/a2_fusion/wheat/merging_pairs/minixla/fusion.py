"""Fusion by greedy grouping: in the beginning every instruction is a kernel, then kernels are merged.

The state is a set of *groups*, the kernels to be: each has the values that it holds on to (`stores`).
What no group stores is computed by each group that needs it. There are two kinds of moves:

- *merge* two groups, a producer and a consumer, or siblings that read the same array;
- *dissolve* a stored value: every group that reads it computes it, from what is in memory.

Each move has a price, the bytes of all kernels concerned before and after. The move that saves most
is made, provided that the new kernels are legal, which `kernel_rules` is asked for, and that no
kernel comes to wait for itself. Then the moves of the groups concerned are priced anew. As each move
saves bytes, or a kernel and no bytes, the result is never worse than the beginning.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from .errors import KernelError
from .fusion_builder import build_fusions
from .hlo import ADDRESSING, Computation, Instruction, Module, Names, TupleShape, instruction
from .hlo import parameter as make_parameter
from .kernel_rules import verify_kernels
from .kernels import FUSIBLE, Kernel, KernelPlan, is_named, kernel_kind, runs_alone

MAX_BODY = 256  # instructions of a kernel
MAX_CHAIN = 16  # instructions of a value that several kernels compute
MAX_SIBLINGS = 8  # neighbours that a kernel is compared with, for each array that it reads
MAX_VISITS = 4096  # kernels that are looked at to find out whether one waits for another

Move = tuple[int, int, int, str, tuple[int, ...]]  # bytes saved (negative), size, number, value or "", groups


def run(module: Module) -> tuple[Module, bool]:
    """Fuse what the entry does into kernels; also say whether anything has changed."""
    grouping = _Grouping(module)
    grouping.improve()
    result = build_fusions(KernelPlan(module, grouping.kernels()))
    before, after = (
        sum(it.opcode == "fusion" for it in each.entry_computation.instructions) for each in (module, result)
    )
    return (result, True) if after > before else (module, False)


class _Grouping:
    """`home`: for each stored value its group. `stores`, `reads`, `work`: of each group, by number: values that it
    stores, arrays in memory that it reads, how many instructions it runs. `readers`: groups, by array in memory.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.entry = module.entry_computation
        self.position = {it.name: number for number, it in enumerate(self.entry.instructions)}
        self.home: dict[str, int] = {}
        self.stores: dict[int, set[str]] = {}
        self.reads: dict[int, set[str]] = {}
        self.work: dict[int, int] = {}
        self.readers: dict[str, set[int]] = {it.name: set() for it in self.entry.instructions}
        self.alone: list[int] = []
        self.required: set[str] = set()
        self.aliases: dict[str, set[str]] = {}  # names that lead to a value without a kernel
        self.moves: list[Move] = []
        self.count = 0
        for it in self.entry.instructions:
            if runs_alone(it) or it.opcode in FUSIBLE - ADDRESSING:
                self.home[it.name] = self.position[it.name]
                self.stores[self.home[it.name]] = {it.name}
                if runs_alone(it):
                    self.alone.append(self.home[it.name])
        self.require([self.entry.root])
        for it in self.entry.instructions:
            if runs_alone(it) or is_named(it):
                self.require(it.operands)
            if is_named(it):
                for base in self.behind(it.operands):
                    self.aliases.setdefault(base, set()).add(it.name)
        for group in self.stores:
            self.settle(group, *self.body(self.stores[group], self.is_alone(group)))

    # What there is.

    def is_alone(self, group: int) -> bool:
        return runs_alone(self.entry.instructions[group])

    def in_memory(self, name: str) -> bool:
        return name in self.home or is_named(self.entry[name])

    def behind(self, names: Iterable[str]) -> set[str]:
        """The arrays in memory that values between kernels lead to."""
        found, waiting, seen = set[str](), list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if self.in_memory(name):
                found.add(name)
            else:
                waiting.extend(self.entry[name].operands)
        return found

    def require(self, names: Iterable[str]) -> None:
        self.required |= self.behind(names) & self.home.keys()

    def bytes_of(self, names: Iterable[str]) -> int:
        return sum(self.entry[name].shape.bytes for name in names)

    def body(self, stores: Iterable[str], alone: bool = False, gone: str = "") -> tuple[set[str], set[str]]:
        """What a kernel with these values runs, and what it reads; as if the value `gone` were not stored."""
        own = set(stores)
        if alone:
            return own, self.behind(operand for name in own for operand in self.entry[name].operands)
        found, reads, waiting = set(own), set[str](), list(own)
        while waiting and len(found) <= MAX_BODY:
            for operand in self.entry[waiting.pop()].operands:
                if operand in found:
                    continue
                if operand != gone and operand not in own and self.in_memory(operand):
                    reads.add(operand)
                else:
                    found.add(operand)
                    waiting.append(operand)
        return found, reads

    def written(self, stores: Iterable[str], others: set[int]) -> list[str]:
        """The values that must be written if these kernels are those that hold them."""
        return [name for name in stores if name in self.required or self.readers[name] - others]

    def price(self, group: int) -> int:
        """Bytes that a kernel moves now."""
        return self.bytes_of(self.reads[group]) + self.bytes_of(self.written(self.stores[group], {group}))

    def settle(self, group: int, body: set[str], reads: set[str]) -> None:
        """Note what a group runs and reads."""
        for name in self.reads.get(group, set()) - reads:
            self.readers[name].discard(group)
        for name in reads:
            self.readers[name].add(group)
        self.reads[group], self.work[group] = reads, len(body)

    # What a kernel may be.

    def is_legal(self, body: set[str], reads: set[str], results: list[str]) -> bool:
        """Whether `kernel_rules` accepts a kernel that runs all this."""
        if len(body) > MAX_BODY or not results:
            return False
        names = Names(body)
        inside = {name: names.fresh("param") for name in sorted(reads)}
        if any(isinstance(self.entry[name].shape, TupleShape) for name in reads):
            return False
        written: list[Instruction] = [
            make_parameter(new, number, self.entry[old].array_shape)
            for number, (old, new) in enumerate(inside.items())
        ]
        inner = [self.entry[name] for name in sorted(body, key=self.position.__getitem__)]
        written += [it.renamed(inside) for it in inner]
        root, shape = results[0], self.entry[results[0]].shape
        if len(results) > 1:
            root, shape = names.fresh("tuple"), TupleShape(tuple(self.entry[each].array_shape for each in results))
            written.append(instruction(root, "tuple", shape, results))
        callee = Computation("kernel", tuple(written), root)
        outer = [make_parameter(new, number, self.entry[old].array_shape) for number, (old, new) in enumerate(inside.items())]
        call = instruction(Names(inside.values()).fresh("call"), "fusion", shape, inside.values(), kind=kernel_kind(inner), calls="kernel")
        try:
            verify_kernels(Module("m", (callee, Computation("main", (*outer, call), call.name)), "main"))
        except KernelError:
            return False
        return True

    def successors(self, group: int) -> set[int]:
        found: set[int] = set()
        for name in self.stores[group]:
            for alias in (name, *self.aliases.get(name, ())):
                found |= self.readers[alias]
        if self.is_alone(group):  # side effects keep their order
            place = self.alone.index(group)
            found.update(self.alone[place + 1 : place + 2])
        return found - {group}

    def waits_between(self, early: int, late: int) -> bool:
        """Whether a third kernel stands between two, or `early` reads what `late` makes."""
        waiting, seen = [each for each in self.successors(early) if each != late], set[int]()
        while waiting:
            group = waiting.pop()
            if group == late or len(seen) > MAX_VISITS:
                return True
            if group not in seen:
                seen.add(group)
                waiting.extend(self.successors(group))
        return False

    # Moves.

    def improve(self) -> None:
        for group in list(self.stores):
            self.offer(group)
        while self.moves:
            saved, _, _, value, groups = heapq.heappop(self.moves)
            if not all(group in self.stores for group in groups):
                continue
            now = self.gain_of(value, groups)
            if now is None:
                continue
            if now < -saved:
                self.push(now, value, groups)
            elif value:
                self.dissolve(value)
            else:
                self.merge(*groups)

    def offer(self, group: int) -> None:
        """Put a price on all moves that concern a group."""
        if self.is_alone(group):
            return
        partners: set[int] = self.successors(group)
        values = set(self.stores[group])
        for name in self.reads[group]:
            if name in self.home:
                partners.add(self.home[name])
                values.add(name)
            near = sorted(self.readers[name], key=lambda other: (abs(other - group), other))
            partners.update(near[: MAX_SIBLINGS + 1])
        for other in sorted(partners - {group}):
            if not self.is_alone(other):
                self.try_push("", tuple(sorted((group, other))))
        for value in sorted(values):
            if not self.is_alone(self.home[value]):
                self.try_push(value, (self.home[value],))

    def try_push(self, value: str, groups: tuple[int, ...]) -> None:
        gain = self.gain_of(value, groups)
        if gain is not None:
            self.push(gain, value, groups)

    def push(self, gain: int, value: str, groups: tuple[int, ...]) -> None:
        self.count += 1
        heapq.heappush(self.moves, (-gain, sum(self.work[group] for group in groups), self.count, value, groups))

    def gain_of(self, value: str, groups: tuple[int, ...]) -> int | None:
        """Bytes that a move saves, or None if it cannot be made or is of no use."""
        return self.gain_of_dissolving(value) if value else self.gain_of_merging(*groups)

    def gain_of_merging(self, a: int, b: int) -> int | None:
        stores = self.stores[a] | self.stores[b]
        if self.work[a] + self.work[b] > 2 * MAX_BODY:
            return None
        body, reads = self.body(stores)
        written = self.written(stores, {a, b})
        gain = self.price(a) + self.price(b) - self.bytes_of(reads) - self.bytes_of(written)
        if gain < 0 or not self.is_legal(body, reads, written):
            return None
        return None if self.waits_between(a, b) or self.waits_between(b, a) else gain

    def merge(self, a: int, b: int) -> None:
        for name in self.stores[b]:
            self.home[name] = a
        self.stores[a] |= self.stores.pop(b)
        self.settle(b, set(), set())
        self.settle(a, *self.body(self.stores[a]))
        for name in sorted(self.stores[a], key=self.position.__getitem__, reverse=True):
            if len(self.stores[a]) > 1 and name not in self.written(self.stores[a], {a}) and self.is_light(name, a):
                self.stores[a].discard(name)  # nobody else reads it, so it is no value of its own any more
                del self.home[name]
        self.settle(a, *self.body(self.stores[a]))
        self.offer(a)

    def is_light(self, value: str, group: int) -> bool:
        """Whether a value depends on no dot or reduce of its kernel."""
        body, _ = self.body({value})
        chain, waiting = set(body), list(body)
        while waiting:
            for operand in self.entry[waiting.pop()].operands:
                if self.home.get(operand) == group and operand not in chain:
                    chain.add(operand)
                    waiting.append(operand)
        return all(self.entry[name].opcode not in ("dot", "reduce") for name in chain)

    def gain_of_dissolving(self, value: str) -> int | None:
        it, group = self.entry[value], self.home.get(value, -1)
        if group < 0 or value in self.required or it.opcode in ("dot", "reduce") or value in self.aliases:
            return None
        readers = self.readers[value] - {group}
        chain, inputs = self.body({value})
        if not readers or (len(readers) > 1 and len(chain) > MAX_CHAIN):
            return None
        if any(self.is_alone(reader) for reader in readers):
            return None
        rest = self.stores[group] - {value}
        concerned = {group} | readers
        before = sum(map(self.price, concerned))
        touched = {name for name in inputs if name in self.home and self.home[name] not in concerned}
        if any(not self.readers[name] and name not in self.required for name in touched):
            return None  # it would have to be written for this
        after = 0
        new_reads: dict[int, set[str]] = {}
        bodies: dict[int, set[str]] = {}
        for each in sorted(concerned):
            stores = rest if each == group else self.stores[each]
            if stores:
                bodies[each], new_reads[each] = self.body(stores, gone=value)
        for each, reads in new_reads.items():
            stores = rest if each == group else self.stores[each]
            elsewhere = [
                name
                for name in stores
                if name in self.required
                or self.readers[name] - concerned
                or any(name in other for number, other in new_reads.items() if number != each)
            ]
            after += self.bytes_of(reads) + self.bytes_of(elsewhere)
            if not self.is_legal(bodies[each], reads, elsewhere):
                return None
        gain = before - after
        return gain if gain > 0 or (gain == 0 and not rest) else None

    def dissolve(self, value: str) -> None:
        group = self.home.pop(value)
        readers = self.readers[value] - {group}
        self.stores[group].discard(value)
        if self.stores[group]:
            self.settle(group, *self.body(self.stores[group]))
        else:
            self.settle(group, set(), set())
            del self.stores[group]
        for reader in readers:
            self.settle(reader, *self.body(self.stores[reader]))
        for each in sorted(readers | ({group} & self.stores.keys())):
            self.offer(each)

    def kernels(self) -> list[Kernel]:
        """The groups in an order in which they can run."""
        waits = dict.fromkeys(self.stores, 0)
        followers = {group: self.successors(group) for group in self.stores}
        for group in self.stores:
            for other in followers[group]:
                waits[other] += 1
        ready = [group for group, count in waits.items() if not count]
        heapq.heapify(ready)
        found: list[Kernel] = []
        while ready:
            group = heapq.heappop(ready)
            stores = sorted(self.stores[group], key=self.position.__getitem__)
            found.append(Kernel(tuple(stores), self.is_alone(group)))
            for other in followers[group]:
                waits[other] -= 1
                if not waits[other]:
                    heapq.heappush(ready, other)
        return found
