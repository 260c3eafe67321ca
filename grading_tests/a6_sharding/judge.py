"""Judges logs of sends and receives that came back as data. Nothing is taken on the student's word.

A log is replayed. The grader follows which numbers every device can know: those of its own block, those it has
received, and sums of these. A device that sends or returns anything else has looked into another device's memory.
Bytes, steps and links are counted here, from the payloads, with the pristine copy of the given `traffic.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from given_minispmd.errors import Deadlock
from given_minispmd.mesh import Mesh
from given_minispmd.topology import Torus
from given_minispmd.traffic import Received, Sent, Traffic, measure

from autograder.kit import check

MAX_EVENTS = 20_000
Sizes = list[list[Any]]
Layout = list[list[str]]


class Send(msgspec.Struct, array_like=True, frozen=True, tag="send"):
    """A message and its payload."""

    to: int
    payload: np.ndarray


class Receive(msgspec.Struct, array_like=True, frozen=True, tag="recv"):
    """The next message from a device."""

    source: int


class Run(msgspec.Struct, frozen=True):
    """What every device returned, sent and received, and its input after the run."""

    outputs: list[np.ndarray]
    log: list[list[Send | Receive]]
    inputs: list[np.ndarray] = []


class Propagated(msgspec.Struct, frozen=True):
    """What came back of a propagation: layouts by value, [op, value, dim, axis], [op, [[value, dim], …]]."""

    layouts: list[Layout]
    decisions: list[tuple[int, int, int, str]]
    conflicts: list[tuple[int, list[tuple[int, int]]]]


class Refused(Exception):
    """What a device cannot know."""


def mesh(sizes: Sizes) -> Mesh:
    """The grader's own mesh."""
    return Mesh(**{name: int(size) for name, size in sizes})


def traffic(run: Run, sizes: Sizes, wrap: bool = True) -> Traffic:
    """Bytes, messages, steps and links of a run; fails as a check if the log makes no sense."""
    devices = mesh(sizes).size
    if len(run.outputs) != devices or len(run.log) != devices:
        check.fail(
            "the run", expected=f"{devices} devices", got=f"{len(run.outputs)} outputs, {len(run.log)} logs"
        )
    if sum(map(len, run.log)) > MAX_EVENTS:
        check.fail("the run", expected=f"at most {MAX_EVENTS:,} sends and receives", got="more")
    for device, events in enumerate(run.log):
        others = [event.to if isinstance(event, Send) else event.source for event in events]
        if any(not 0 <= other < devices or other == device for other in others):
            check.fail(
                f"the log of device {device}", expected="messages to and from other devices", got=str(others)
            )
    log = [[_event(event) for event in events] for events in run.log]
    try:
        return measure(Torus(mesh(sizes).shape, wrap), log)
    except Deadlock as error:
        check.fail("the log, replayed", expected="every message that is waited for", got=str(error))


def _event(event: Send | Receive) -> Sent | Received:
    return Sent(event.to, event.payload.nbytes) if isinstance(event, Send) else Received(event.source)


def replay(run: Run, learn: Callable[[int, np.ndarray], Any], tell: Callable[[int, Any], None]) -> None:
    """Go through a log in an order in which every message is sent before it is received.

    `learn(device, array)` says what a message means to its sender, or raises Refused; `tell(device, meaning)` is
    called when it arrives. At the end every output is looked at like a message.
    """
    mail: dict[tuple[int, int], deque[Any]] = {}
    place = [0] * len(run.log)
    moved = True
    while moved:
        moved = False
        for device, events in enumerate(run.log):
            while place[device] < len(events):
                event = events[place[device]]
                if isinstance(event, Send):
                    meaning = _known(learn, device, event.payload, f"sends to device {event.to}")
                    mail.setdefault((device, event.to), deque()).append(meaning)
                elif mail.get((event.source, device)):
                    tell(device, mail[event.source, device].popleft())
                else:
                    break
                place[device] += 1
                moved = True
    for device, output in enumerate(run.outputs):
        _known(learn, device, output, "returns")


def _known(learn: Callable[[int, np.ndarray], Any], device: int, array: np.ndarray, what: str) -> Any:
    try:
        return learn(device, array)
    except Refused as error:
        check.fail(
            f"what device {device} {what}",
            expected="numbers from its own block, from messages it has received, or sums of these",
            got=str(error),
        )


def moved(run: Run, inputs: Sequence[np.ndarray], free: Sequence[float] = ()) -> None:
    """Pass if every device sends and returns only numbers that it has, or has received by then.

    All numbers of all inputs must differ. `free`: numbers that anybody may make up (zeros of a permute).
    """
    known = [{*array.reshape(-1).tolist(), *free} for array in inputs]

    def learn(device: int, array: np.ndarray) -> list[Any]:
        numbers = array.reshape(-1).tolist()
        for number in numbers:
            if number not in known[device]:
                raise Refused(f"{number}, which it cannot know")
        return numbers

    replay(run, learn, lambda device, numbers: known[device].update(numbers))


def held(run: Run, blocks: Sequence[np.ndarray], needed: np.ndarray) -> None:
    """Pass if every device, from its block and what it received, holds all numbers of `needed`, which differ.

    Messages are looked at as in `moved`; outputs are not, since they are computed.
    """
    known = [set(block.reshape(-1).tolist()) for block in blocks]

    def learn(device: int, array: np.ndarray) -> list[Any]:
        numbers = array.reshape(-1).tolist()
        if unknown := [number for number in numbers if number not in known[device]]:
            raise Refused(f"{unknown[0]}, which it cannot know")
        return numbers

    messages = msgspec.structs.replace(run, outputs=[])
    replay(messages, learn, lambda device, numbers: known[device].update(numbers))
    for device, numbers in enumerate(known):
        missing = [number for number in needed.reshape(-1).tolist() if number not in numbers]
        check.equal(len(missing), 0, f"numbers that device {device} needs and never received")


def summed(run: Run, inputs: Sequence[np.ndarray]) -> None:
    """Pass if every device sends and returns only sums of terms that it has, or has received by then.

    `inputs`: the terms, random integers of 40 bits; element p of all of them belongs to sum p. A number is known
    if it is the sum of some devices' terms of one element, made of disjoint sums that the device holds.
    """
    devices = len(inputs)
    terms = np.stack([array.reshape(-1) for array in inputs]).astype(np.int64)
    table: dict[int, list[tuple[int, int]]] = {}
    sums = np.zeros((1, terms.shape[1]), np.int64)
    for device in range(devices):
        sums = np.concatenate([sums, sums + terms[device]])
    for members, row in enumerate(sums.tolist()):
        for element, value in enumerate(row):
            table.setdefault(value, []).append((element, members))
    known = [{element: {1 << device} for element in range(terms.shape[1])} for device in range(devices)]

    def learn(device: int, array: np.ndarray) -> list[tuple[int, int]]:
        meaning = []
        for value in array.reshape(-1).tolist():
            if value == 0:
                continue
            found = [(e, m) for e, m in table.get(value, []) if _composed(m, known[device][e])]
            if not found:
                raise Refused(f"{value}, which is no sum of terms that it holds")
            meaning += found
        return meaning

    def tell(device: int, meaning: list[tuple[int, int]]) -> None:
        for element, members in meaning:
            known[device][element].add(members)

    replay(run, learn, tell)


def _composed(members: int, known: set[int]) -> bool:
    """Whether a set of devices is a union of disjoint known sets."""
    if members in known or members == 0:
        return True
    lowest = members & -members
    return any(_composed(members ^ part, known) for part in known if part & lowest and part & members == part)
