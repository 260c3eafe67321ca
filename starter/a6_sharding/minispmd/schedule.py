"""A collective matmul as a schedule: what each device sends, receives and multiplies, in order.

c = a @ b on a ring of devices. Each device has its own m rows of a, all k columns of them, and one block of rows
of b: device d holds block d of `devices`. It must multiply its rows of a by *all* of b. A schedule says how:
blocks of b travel, and a device multiplies what it holds while others are on their way.

b is counted in square tiles: it is `tiles_k` × `tiles_n` tiles, and a block is a rectangle of them, given by
half-open ranges `rows` and `columns`. Device d holds rows d · tiles_k / devices up to (d + 1) · tiles_k / devices.

`simulate` checks a schedule and says how long it takes. Sending does not wait; each link carries one message at a
time; a device multiplies one block at a time and does nothing else of its list meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .errors import Deadlock, ScheduleError
from .hardware import Links
from .topology import Torus
from .traffic import Event, Received, Sent, Worked, finish_time

Range = tuple[int, int]
MAX_ACTIONS = 20_000  # in all


@dataclass(frozen=True)
class CollectiveMatmul:
    """The problem. `devices`: on a ring. `m`: rows of a on each. `tiles_k`, `tiles_n`: size of b in tiles.

    `tile`: elements along a tile's side. `itemsize`: bytes of an element. `flops`: operations a second (a multiply
    and an add are two). `start`: seconds that any multiplication takes besides. `links`: of the ring.
    """

    devices: int
    m: int
    tiles_k: int
    tiles_n: int
    tile: int
    itemsize: int
    flops: float
    start: float
    links: Links

    def block_bytes(self, rows: Range, columns: Range) -> int:
        """Bytes of a block of b."""
        return (rows[1] - rows[0]) * (columns[1] - columns[0]) * self.tile**2 * self.itemsize

    def dot_seconds(self, rows: Range, columns: Range) -> float:
        """How long the multiplication by a block of b takes."""
        elements = (rows[1] - rows[0]) * (columns[1] - columns[0]) * self.tile**2
        return self.start + 2 * self.m * elements / self.flops

    def own_rows(self, device: int) -> Range:
        """The rows of b that a device holds at the start."""
        size = self.tiles_k // self.devices
        return (device * size, (device + 1) * size)


@dataclass(frozen=True)
class SendBlock:
    """Send a block of b that this device holds to another device."""

    to: int
    rows: Range
    columns: Range


@dataclass(frozen=True)
class Receive:
    """Wait for the next block from another device; it is held from now on."""

    source: int


@dataclass(frozen=True)
class DotBlock:
    """c[:, columns] += a[:, rows] @ b[rows, columns], with a block of b that this device holds."""

    rows: Range
    columns: Range


Action = SendBlock | Receive | DotBlock
Schedule = Sequence[Sequence[Action]]


def simulate(problem: CollectiveMatmul, schedule: Schedule) -> float:
    """Seconds until the last device has its rows of c.

    Raises ScheduleError if there is not one list for each device, if a block is not held where it is sent or
    multiplied, if a tile of b is not multiplied exactly once on some device, or if a receive has no message.
    """
    if len(schedule) != problem.devices:
        raise ScheduleError(0, 0, f"there are {len(schedule)} lists for {problem.devices} devices")
    if sum(map(len, schedule)) > MAX_ACTIONS:
        raise ScheduleError(0, 0, f"there are more than {MAX_ACTIONS:,} actions")
    mail = _sends(problem, schedule)
    log = [_check_device(problem, device, actions, mail) for device, actions in enumerate(schedule)]
    try:
        return finish_time(Torus((problem.devices,)), log, problem.links.hop, problem.links.bandwidth)
    except Deadlock as error:
        device, source = error.waiting[0]
        raise ScheduleError(device, 0, f"it waits for ever for device {source}") from None


def _sends(problem: CollectiveMatmul, schedule: Schedule) -> dict[tuple[int, int], list[SendBlock]]:
    """What is sent from one device to another, in order."""
    mail: dict[tuple[int, int], list[SendBlock]] = {}
    for device, actions in enumerate(schedule):
        for number, action in enumerate(actions):
            if isinstance(action, SendBlock):
                if not 0 <= action.to < problem.devices or action.to == device:
                    raise ScheduleError(device, number, f"it sends to device {action.to}")
                mail.setdefault((device, action.to), []).append(action)
    return mail


def _check_device(
    problem: CollectiveMatmul,
    device: int,
    actions: Sequence[Action],
    mail: dict[tuple[int, int], list[SendBlock]],
) -> list[Event]:
    """The device's list as events with sizes and times; checks what it holds and what it multiplies."""
    held = np.zeros((problem.tiles_k, problem.tiles_n), bool)
    held[slice(*problem.own_rows(device))] = True
    done = np.zeros_like(held)
    taken: dict[int, int] = {}
    events: list[Event] = []
    for number, action in enumerate(actions):
        if isinstance(action, Receive):
            place = taken.get(action.source, 0)
            taken[action.source] = place + 1
            messages = mail.get((action.source, device), [])
            if place >= len(messages):
                raise ScheduleError(device, number, f"device {action.source} sends it no more than {place} blocks")
            held[slice(*messages[place].rows), slice(*messages[place].columns)] = True
            events.append(Received(action.source))
            continue
        rows, columns = action.rows, action.columns
        if not (0 <= rows[0] < rows[1] <= problem.tiles_k and 0 <= columns[0] < columns[1] <= problem.tiles_n):
            raise ScheduleError(device, number, f"rows {rows} and columns {columns} are no block of b")
        if not held[slice(*rows), slice(*columns)].all():
            raise ScheduleError(device, number, f"it does not hold all of rows {rows}, columns {columns}")
        if isinstance(action, SendBlock):
            events.append(Sent(action.to, problem.block_bytes(rows, columns)))
        else:
            if done[slice(*rows), slice(*columns)].any():
                raise ScheduleError(
                    device, number, f"part of rows {rows}, columns {columns} was multiplied before"
                )
            done[slice(*rows), slice(*columns)] = True
            events.append(Worked(problem.dot_seconds(rows, columns)))
    if not done.all():
        missing = tuple(int(place) for place in np.argwhere(~done)[0])
        raise ScheduleError(device, len(actions), f"tile {missing} of b is never multiplied")
    return events
