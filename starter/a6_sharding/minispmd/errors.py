"""Exceptions of minispmd: facts first, wording second.

Every class takes plain facts, keeps them as attributes, and builds its sentence from them: what was given, what
is allowed, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class SpecError(ValueError):
    """A partition spec that does not fit its array or its mesh.

    `spec`: the spec as printed. `problem`: "rank", "unknown axis", "axis twice" or "not divisible". `axis`: the
    mesh axis concerned ("" if none). `dim`: the dimension concerned (-1 if none).
    """

    def __init__(self, spec: object, problem: str, axis: str = "", dim: int = -1, detail: str = "") -> None:
        self.spec = str(spec)
        self.problem = problem
        self.axis = axis
        self.dim = dim
        advice = {
            "rank": "a spec has at most one entry for each dimension; leave the extra ones out",
            "unknown axis": "use the names of the mesh's axes",
            "axis twice": "an axis can cut one dimension only, and only once",
            "not divisible": "choose fewer or other axes, or pad the dimension",
        }.get(problem, "")
        where = f" in dimension {dim}" if dim >= 0 else ""
        which = f" {axis!r}" if axis else ""
        super().__init__(f"{self.spec}: {problem}{which}{where}{': ' + detail if detail else ''}; {advice}.")


class ReplicaError(ValueError):
    """Copies of one block that differ. `first`, `second`: two devices that should hold the same and do not."""

    def __init__(self, first: int, second: int, spec: object) -> None:
        self.first = first
        self.second = second
        self.spec = str(spec)
        super().__init__(
            f"{self.spec} says that devices {first} and {second} hold the same block, but their values differ; "
            f"is a collective missing (psum, all_gather), or an axis in the spec?"
        )


class CollectiveError(ValueError):
    """A collective that cannot be carried out. `collective`: its name. `problem`: why not."""

    def __init__(self, collective: str, problem: str) -> None:
        self.collective = collective
        self.problem = problem
        super().__init__(f"{collective}: {problem}.")


class Deadlock(RuntimeError):
    """Every device that is left waits for a message that nobody will send.

    `waiting`: pairs (device, the device it waits for). `finished`: devices whose program has ended. `calls`: for
    each waiting device, the collective it is in ("" if in none).
    """

    def __init__(self, waiting: Iterable[tuple[int, int]], finished: Iterable[int], calls: Iterable[str]) -> None:
        self.waiting = tuple(waiting)
        self.finished = tuple(finished)
        self.calls = tuple(calls)
        lines = []
        for (device, source), call in zip(self.waiting, self.calls, strict=True):
            inside = f" in {call}" if call else ""
            end = ", which has finished" if source in self.finished else ""
            lines.append(f"device {device} waits{inside} for device {source}{end}")
        super().__init__("nobody can go on: " + "; ".join(lines) + ".")


class CollectiveMismatch(RuntimeError):
    """Two devices of one group call different collectives. `devices`: the two. `calls`: what each one calls."""

    def __init__(self, devices: tuple[int, int], calls: tuple[str, str]) -> None:
        self.devices = devices
        self.calls = calls
        super().__init__(
            f"device {devices[0]} calls {calls[0]}, but device {devices[1]} of the same group calls {calls[1]}; "
            f"all devices of a group must call the same collectives in the same order."
        )


class ProgramError(ValueError):
    """A matmul program with a step that is not allowed. `step`: its number, from 0 (the number of steps if the
    end is wrong). `problem`: which rule it breaks.
    """

    def __init__(self, step: int, problem: str) -> None:
        self.step = step
        self.problem = problem
        super().__init__(f"step {step}: {problem}.")


class ShardMapError(ValueError):
    """A call of `shard_map` or of a collective that does not fit. `problem`: what is wrong."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"shard_map: {problem}.")


class ScheduleError(ValueError):
    """A collective matmul's schedule that cannot be run. `device`, `action`: where; `problem`: why."""

    def __init__(self, device: int, action: int, problem: str) -> None:
        self.device = device
        self.action = action
        self.problem = problem
        super().__init__(f"device {device}, action {action}: {problem}.")


class NoPlan(ValueError):
    """No mesh of so many devices can train the model. `devices`: how many. `problem`: the nearest miss."""

    def __init__(self, devices: int, problem: str) -> None:
        self.devices = devices
        self.problem = problem
        super().__init__(f"no mesh of {devices} devices can train this model: {problem}.")
