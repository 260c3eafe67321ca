"""Counting: what a log of sends and receives costs on a torus.

A log has one list of events for each device, in the order in which its program does them. Nothing here looks at
values; a log is replayed with a clock. A send does not wait. A receive waits until the message is there. A link
carries one message at a time, first come first served, and a message is passed on when all of it has arrived.

Two clocks are used. In *steps*, every message takes 1 on every link. In *seconds*, it takes the larger of the
hop latency and its bytes divided by the link's bandwidth.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .errors import Deadlock
from .topology import Link, Torus


@dataclass(frozen=True)
class Sent:
    """A message of so many bytes to another device."""

    to: int
    nbytes: int


@dataclass(frozen=True)
class Received:
    """The next message from that device."""

    source: int


@dataclass(frozen=True)
class Worked:
    """Computing, for so many units of time; messages travel meanwhile."""

    time: float


Event = Sent | Received | Worked
Log = Sequence[Sequence[Event]]


@dataclass(frozen=True)
class Traffic:
    """What a log costs.

    `sent`: bytes sent by each device. `messages`: how many in all. `steps`: when the last device is done, if a
    message takes 1 on each link. `links`: bytes over each link that carried any, by (from, to).
    """

    sent: tuple[int, ...]
    messages: int
    steps: int
    links: dict[Link, int]

    @property
    def busiest(self) -> int:
        """Bytes over the link that carries most."""
        return max(self.links.values(), default=0)


def measure(torus: Torus, log: Log) -> Traffic:
    """Count bytes, messages and steps of a log. Raises Deadlock if a receive has no message."""
    links: dict[Link, int] = {}
    sends = [(device, event) for device, events in enumerate(log) for event in events if isinstance(event, Sent)]
    for device, event in sends:
        for link in torus.route(device, event.to):
            links[link] = links.get(link, 0) + event.nbytes
    sent = tuple(sum(event.nbytes for event in events if isinstance(event, Sent)) for events in log)
    steps = finish(torus, log, lambda nbytes: 1)
    return Traffic(sent, len(sends), int(steps), links)


def finish_time(torus: Torus, log: Log, hop_seconds: float, bandwidth: float) -> float:
    """Seconds until the last device is done; `bandwidth` in bytes a second, one way over one link."""
    return finish(torus, log, lambda nbytes: max(hop_seconds, nbytes / bandwidth))


@dataclass
class _Replay:
    """Where every device is in its log, and which messages have arrived."""

    log: Log
    clock: list[float]
    position: list[int]
    arrived: dict[Link, deque[float]] = field(default_factory=dict)

    def advance(self, device: int) -> Iterator[tuple[float, int, int]]:
        """Go on until the device waits or is done; yields (time, target, bytes) of its sends."""
        events = self.log[device]
        while self.position[device] < len(events):
            event = events[self.position[device]]
            match event:
                case Sent(to, nbytes):
                    yield self.clock[device], to, nbytes
                case Received(source):
                    waiting = self.arrived.get((source, device))
                    if not waiting:
                        return
                    self.clock[device] = max(self.clock[device], waiting.popleft())
                case Worked(time):
                    self.clock[device] += time
            self.position[device] += 1


def finish(torus: Torus, log: Log, cost: Callable[[int], float]) -> float:
    """When the last device is done, if a message of b bytes takes cost(b) on each link."""
    replay = _Replay(log, [0.0] * len(log), [0] * len(log))
    free: dict[Link, float] = {}
    moving: list[tuple[float, int, tuple[Link, ...], int, Link]] = []  # ready at, order, links left, bytes, ends
    order = 0

    def run(device: int) -> None:
        nonlocal order
        for time, to, nbytes in replay.advance(device):
            order += 1
            heapq.heappush(moving, (time, order, torus.route(device, to), nbytes, (device, to)))

    for device in range(len(log)):
        run(device)
    while moving:
        time, number, links, nbytes, ends = heapq.heappop(moving)
        if links:
            free[links[0]] = max(time, free.get(links[0], 0.0)) + cost(nbytes)
            heapq.heappush(moving, (free[links[0]], number, links[1:], nbytes, ends))
        else:
            replay.arrived.setdefault(ends, deque()).append(time)
            run(ends[1])
    stuck = [device for device, events in enumerate(log) if replay.position[device] < len(events)]
    if stuck:
        waits = [(device, log[device][replay.position[device]].source) for device in stuck]  # type: ignore[union-attr]
        done = [device for device in range(len(log)) if device not in stuck]
        raise Deadlock(waits, done, [""] * len(stuck))
    return max(replay.clock, default=0.0)
