"""The fabric: many devices that run one program each and can only send and receive.

`Fabric(mesh).run(program, xs)` calls `program(device, xs[device.id])` once for every device and returns the
results, one for each. A program sees its own argument and what it receives, nothing else: `send` copies the array,
`recv` waits for the next message from one device. Devices take turns in a fixed order and a turn ends only in a
`recv` that must wait, so a run is the same every time and there is never more than one program running.

The fabric writes down what every device sends and receives (`log`), and counts it (`traffic`). When nobody can go
on it says who waits for whom; when devices of a group call different collectives it names both.
"""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .errors import CollectiveError, CollectiveMismatch, Deadlock
from .mesh import Mesh
from .topology import Torus
from .traffic import Event, Received, Sent, Traffic, finish_time, measure

STACK_BYTES = 1 << 20  # of one device's thread
_local = threading.local()
Function = TypeVar("Function", bound=Callable[..., Any])


class _Stopped(BaseException):
    """Ends a device's program when another one has failed."""


class Device:
    """One device, as its program sees it. `id`: its number. `mesh`: the mesh it belongs to."""

    def __init__(self, fabric: Fabric, number: int) -> None:
        self.id = number
        self.mesh = fabric.mesh
        self.waiting_for: int | None = None
        self.finished = False
        self.calls: list[str] = []  # the collectives it is in, outermost first
        self._fabric = fabric
        self._turn = threading.Semaphore(0)

    def __repr__(self) -> str:
        return f"<device {self.id}>"

    def send(self, to: int, value: np.ndarray) -> None:
        """Send a copy of an array to another device; does not wait. Raises CollectiveError for a wrong `to`."""
        if not 0 <= to < self.mesh.size or to == self.id:
            raise CollectiveError("send", f"device {self.id} cannot send to device {to}")
        payload = np.array(value)
        self._fabric.payloads[self.id].append(payload)
        self._fabric.log[self.id].append(Sent(to, payload.nbytes))
        self._fabric.mail.setdefault((self.id, to), deque()).append(payload)

    def recv(self, source: int) -> np.ndarray:
        """The next array from another device; waits for it. Raises CollectiveError for a wrong `source`."""
        if not 0 <= source < self.mesh.size or source == self.id:
            raise CollectiveError("recv", f"device {self.id} cannot receive from device {source}")
        box = self._fabric.mail.setdefault((source, self.id), deque())
        self._fabric.log[self.id].append(Received(source))
        while not box:
            self.waiting_for = source
            self._fabric.pause(self)
        self.waiting_for = None
        return box.popleft()

    @contextmanager
    def inside(self, call: str, group: tuple[int, ...]) -> Any:
        """Tell the fabric that this device now carries out a collective with the devices of `group`."""
        self._fabric.compare(self.id, call, frozenset(group))
        self.calls.append(call)
        yield
        self.calls.pop()


class Fabric:
    """The devices of a mesh, wired as a torus with the mesh's sizes. `wrap`: whether its lines are rings.

    After `run`: `log` has each device's events, `payloads` the arrays it sent, in order.
    """

    def __init__(self, mesh: Mesh, wrap: bool = True) -> None:
        self.mesh = mesh
        self.torus = Torus(mesh.shape, wrap)
        self.log: list[list[Event]] = []
        self.payloads: list[list[np.ndarray]] = []
        self._reset()

    def _reset(self) -> None:
        self.log = [[] for _ in range(self.mesh.size)]
        self.payloads = [[] for _ in range(self.mesh.size)]
        self.mail: dict[tuple[int, int], deque[np.ndarray]] = {}
        self._history: dict[frozenset[int], list[tuple[int, str]]] = {}
        self._count: dict[tuple[frozenset[int], int], int] = {}
        self._failure: BaseException | None = None
        self._back = threading.Semaphore(0)

    @property
    def traffic(self) -> Traffic:
        """Bytes, messages and steps of the last run."""
        return measure(self.torus, self.log)

    def seconds(self, hop_seconds: float, bandwidth: float) -> float:
        """How long the last run's messages take; `bandwidth` in bytes a second, one way over one link."""
        return finish_time(self.torus, self.log, hop_seconds, bandwidth)

    def run(self, program: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Run `program(device, *(a[device.id] for a in arguments))` on every device; returns their results.

        Raises what a program raises (of the first that does), Deadlock, and CollectiveMismatch.
        """
        self._reset()
        devices = [Device(self, number) for number in range(self.mesh.size)]
        results: list[Any] = [None] * self.mesh.size

        def main(device: Device) -> None:
            device._turn.acquire()
            _local.device = device
            try:
                if self._failure is None:
                    results[device.id] = program(device, *(argument[device.id] for argument in arguments))
            except _Stopped:
                pass
            except BaseException as error:
                self._failure = self._failure or error
            device.finished = True
            self._back.release()

        before = threading.stack_size(STACK_BYTES)
        try:
            for device in devices:
                threading.Thread(target=main, args=(device,), daemon=True).start()
        finally:
            threading.stack_size(before)
        self._take_turns(devices)
        if self._failure is not None:
            raise self._failure
        return results

    def _take_turns(self, devices: list[Device]) -> None:
        """Let each device that can go on do so, in order, until all are finished."""
        while left := [device for device in devices if not device.finished]:
            ready = [device for device in left if self._can_go_on(device)]
            if not ready and self._failure is None:
                self._failure = self._deadlock(devices)
            for device in left if self._failure else ready:
                device._turn.release()
                self._back.acquire()

    def _can_go_on(self, device: Device) -> bool:
        return device.waiting_for is None or bool(self.mail.get((device.waiting_for, device.id)))

    def _deadlock(self, devices: list[Device]) -> Deadlock:
        stuck = [device for device in devices if not device.finished]
        return Deadlock(
            [(device.id, device.waiting_for) for device in stuck if device.waiting_for is not None],
            [device.id for device in devices if device.finished],
            [device.calls[-1] if device.calls else "" for device in stuck],
        )

    def pause(self, device: Device) -> None:
        """End this device's turn; returns at its next one."""
        self._back.release()
        device._turn.acquire()
        if self._failure is not None:
            raise _Stopped

    def compare(self, device: int, call: str, group: frozenset[int]) -> None:
        """Compare a collective with what the group's other devices call at the same place of their programs."""
        count = self._count.get((group, device), 0)
        self._count[group, device] = count + 1
        history = self._history.setdefault(group, [])
        if count == len(history):
            history.append((device, call))
        elif history[count][1] != call:
            first, other = history[count]
            raise CollectiveMismatch((first, device), (other, call))


def this_device() -> Device | None:
    """The device whose program is running now; None outside `Fabric.run`."""
    return getattr(_local, "device", None)


def collective(function: Function) -> Function:
    """Mark `f(device, x, ..., group)` as a collective: the fabric checks that the whole group calls it alike.

    All arguments but the device and the array must be equal on the devices of a group, and so must the array's
    shape and dtype. Raises CollectiveError if the device is not in its group or a device occurs in it twice.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(device: Device, x: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(device, x, *args, **kwargs)
        bound.apply_defaults()
        group = bound.arguments["group"] = tuple(bound.arguments["group"])
        if device.id not in group or len(set(group)) < len(group):
            raise CollectiveError(function.__name__, f"device {device.id} got the group {group}")
        x = bound.arguments["x"] = np.asarray(x)
        rest = [
            f"{name}={value}" for name, value in bound.arguments.items() if name not in ("device", "x", "groups")
        ]
        with device.inside(f"{function.__name__}({x.dtype}{list(x.shape)}, {', '.join(rest)})", group):
            return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]
