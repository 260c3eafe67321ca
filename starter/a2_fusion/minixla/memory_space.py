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
       start and done is as large as the room that is left allows.

    Raises ValueError if a name in `prefetch` is no parameter. A module that uses VMEM already is
    left as it is.
    """
    timeline = KernelTimeline(module)
    timeline.check_parameters(prefetch)
    if timeline.uses_vmem:
        return module, False
    vmem = Vmem(vmem_bytes, len(timeline.kernels))
    # about 15 lines
    raise NotImplementedError("a2.6: put the parameters, then the results, then see how early the copies can start")


class Vmem:
    """The fast memory: its size, and how many bytes are used at each of `kernels` kernels."""

    def __init__(self, size: int, kernels: int) -> None:
        self.size = size
        self.used = [0] * kernels

    def put(self, array_bytes: int, first: int, last: int) -> bool:
        """Take bytes from one kernel to another, both included, if they are free all the time; else do nothing."""
        # about 5 lines
        raise NotImplementedError("a2.6: look at every kernel before taking anything")

    def room(self) -> list[int]:
        """The bytes that are free at each kernel."""
        return [self.size - used for used in self.used]


def start_early(done: Mapping[str, int], sizes: Mapping[str, int], room: Sequence[int]) -> dict[str, int]:
    """For each copy the kernel before which it starts, such that all together overlap as many kernels as possible.

    `done`: for each copy the kernel before which it is done; a copy that starts before kernel s and
    is done before kernel d overlaps kernels s to d − 1, and takes its size of the `room` (bytes, for
    each kernel) at these. The sum of the overlaps is the largest that is possible.
    """
    # about 9 lines
    raise NotImplementedError("a2.6: go back in time; where room is short, the largest copies under way start")
