"""Memory spaces: what lies in VMEM while the kernels run, and when it is copied there.

A scheduled, fused module has its kernels one after the other. An array that lies in VMEM, marked
S(1), costs its readers no trip to memory, but room there is scarce. Parameters come by asynchronous
copies: `copy-start` sets one going and the kernels run on; `copy-done`, directly before the first
kernel that reads the array, waits for it. Results are put there by the kernel that makes them.

Time is counted in kernels, 0 to n − 1. An array is in VMEM from the kernel that makes it, or the
first that runs after its `copy-start`, to the last kernel that reads it, both included. At no
kernel may the arrays there be larger together than the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .hlo import Module
from .kernel_timeline import KernelTimeline, write_memory_spaces


def assign_memory_space(module: Module, vmem_bytes: int, prefetch: Sequence[str]) -> tuple[Module, bool]:
    """Use at most `vmem_bytes` of VMEM, in three steps; also say whether anything has changed.

    1. Each parameter named in `prefetch`, in that order, is copied, if it fits from its first
       reader to its last; all kernels that read it read the copy.
    2. Each array that a kernel makes and that is no output of the module, in the order of the
       schedule, is put in VMEM, if it fits for its whole life beside what is there.
    3. The copies start earlier, such that the sum over the copies of the kernels that run between
       start and done is as large as the room that is left allows (found by branch and bound).

    Raises ValueError if a name in `prefetch` is no parameter. A module that uses VMEM already is
    left as it is.
    """
    timeline = KernelTimeline(module)
    timeline.check_parameters(prefetch)
    if timeline.uses_vmem:
        return module, False
    room = [vmem_bytes] * len(timeline.kernels)

    def take(array: str, first: int, last: int) -> bool:
        size = timeline.bytes[array]
        fits = all(room[kernel] >= size for kernel in range(first, last + 1))
        if fits:
            for kernel in range(first, last + 1):
                room[kernel] -= size
        return fits

    done: dict[str, int] = {}
    for parameter in dict.fromkeys(prefetch):
        if timeline.can_be_copied(parameter):
            readers = timeline.readers[parameter]
            if take(parameter, readers[0], readers[-1]):
                done[parameter] = readers[0]
    resident = set()
    for array, maker in timeline.maker.items():
        if array not in timeline.outputs and take(array, maker, timeline.readers.get(array, [maker])[-1]):
            resident.add(array)
    if not done and not resident:
        return module, False
    return write_memory_spaces(timeline, start_early(done, timeline.bytes, room), done, resident), True


def start_early(done: Mapping[str, int], sizes: Mapping[str, int], room: Sequence[int]) -> dict[str, int]:
    """For each copy the kernel before which it starts, such that all together overlap as many kernels as possible.

    `done`: for each copy the kernel before which it is done; a copy that starts before kernel s and
    is done before kernel d overlaps kernels s to d − 1, and takes its size of the `room` (bytes, for
    each kernel) at these. The sum of the overlaps is the largest that is possible.
    """
    order = sorted(done, key=lambda name: (sizes[name], -done[name]))  # small ones first: a good first answer
    left = list(room)
    best: tuple[int, dict[str, int]] = (-1, {})
    chosen: dict[str, int] = {}

    def bound(place: int) -> int:
        """No more overlaps than this are to be had from the copies that are still to be placed.

        Copies go on under way only as long as there is room for each alone; where there is none for
        all of them, as many of the smallest as fit would be the most, had each no need to be in one piece.
        """
        total, under_way = 0, list[str]()
        for kernel in range(len(left) - 1, -1, -1):
            under_way += [name for name in order[place:] if done[name] == kernel + 1]
            under_way.sort(key=sizes.__getitem__)
            free, fitting = left[kernel], 0
            for name in under_way:
                free -= sizes[name]
                fitting += free >= 0
            under_way = [name for name in under_way if sizes[name] <= left[kernel]]
            total += fitting
        return total

    def search(place: int, gained: int) -> None:
        nonlocal best
        if place == len(order):
            if gained > best[0]:
                best = gained, dict(chosen)
            return
        if gained + bound(place) <= best[0]:
            return
        name = order[place]
        earliest = done[name]
        while earliest > 0 and left[earliest - 1] >= sizes[name]:
            earliest -= 1
        for start in range(earliest, done[name] + 1):
            for kernel in range(start, done[name]):
                left[kernel] -= sizes[name]
            chosen[name] = start
            search(place + 1, gained + done[name] - start)
            for kernel in range(start, done[name]):
                left[kernel] += sizes[name]

    search(0, 0)
    return best[1]
