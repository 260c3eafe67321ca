"""Pictures in text: who holds what, and who sends when."""

from __future__ import annotations

from collections.abc import Sequence

from .fabric import Fabric
from .traffic import Sent


def mesh_map(shape: Sequence[int], indices: Sequence[tuple[slice, ...]]) -> str:
    """A matrix with the devices that hold each block, from `device_indices` of a spec of two dimensions."""
    owners: dict[tuple[int, ...], list[int]] = {}
    for device, index in enumerate(indices):
        owners.setdefault(tuple(piece.start for piece in index), []).append(device)
    tops = sorted({start[0] for start in owners})
    lefts = sorted({start[1] for start in owners})
    words = {start: " ".join(map(str, devices)) for start, devices in owners.items()}
    width = max(len(word) for word in words.values()) + 2
    rule = "+" + "+".join(["-" * width] * len(lefts)) + "+"
    lines = [f"{shape[0]} x {shape[1]}, devices of each block:", rule]
    for top in tops:
        lines += ["|" + "|".join(words[top, left].center(width) for left in lefts) + "|", rule]
    return "\n".join(lines)


def ring_timeline(fabric: Fabric) -> str:
    """What each device sends in a run, in order: one line for each device, `>3:32` for 32 bytes to device 3."""
    lines = []
    for device, events in enumerate(fabric.log):
        sends = [f">{event.to}:{event.nbytes}" for event in events if isinstance(event, Sent)]
        lines.append(f"device {device:<3}" + "".join(f"{word:>9}" for word in sends))
    return "\n".join(lines)
