"""Attacks that want what is on the machine: secrets, damage, memory, time."""

from __future__ import annotations

from attacks import Attack, Naive, Without
from attacks.catalogue.successes import (
    MEMORY_MIB,
    bloats,
    borrows,
    hands_on,
    hangs,
    leaks,
    listens,
    no_report,
    paints,
    reaches_out,
    survives,
    tampers,
)
from autograder.sandbox.limits import Defences

_EVERY, _WIRE = ("_every_function",), ("_wire",)
_HOARD = MEMORY_MIB + 128

_SECRETS = [
    Attack("gc_hunt", "Search all objects of the process for a secret.", Naive("unittest", leaks)),
    Attack(
        "read_disk",
        "Read the tests, the submission's metadata and earlier results from their files.",
        Without(
            Defences(landlock=False, uid=False),
            leaks,
            "Landlock and file permissions each suffice",
        ),
    ),
    Attack(
        "read_proc",
        "Read the grader's environment, memory, descriptors and root through /proc.",
        Without(
            Defences(landlock=False, uid=False),
            leaks,
            "Landlock hides /proc, and another user's is closed anyway",
        ),
    ),
    Attack(
        "stash_on_disk",
        "Leave a probe's source on disk, for a later test to print.",
        Without(
            Defences(landlock=False, sweep=False),
            hands_on,
            "what Landlock does not prevent is swept away after each test",
        ),
    ),
    Attack(
        "stash_in_kernel",
        "Leave it in shared memory or on a key ring, which no sweep of files finds.",
        Without(Defences(seccomp=False), hands_on),
    ),
    Attack(
        "import_jax",
        "Import a package that the assignment does not have from somewhere else on the machine.",
        Without(Defences(landlock=False), borrows),
    ),
]

_DAMAGE = [
    Attack(
        "write_trusted_files",
        "Change, rename and open up the results, the tests and the metadata.",
        Without(
            Defences(landlock=False, uid=False),
            tampers,
            "Landlock and file permissions each suffice",
        ),
    ),
    Attack(
        "planted_symlink",
        "Plant links to trusted files in the working folder, for the clean-up to follow.",
        Naive("script", tampers),
    ),
    Attack(
        "deep_folder",
        "Nest folders so deeply that the clean-up fails.",
        Naive("script", no_report),
        slow=True,
    ),
    Attack("fork_bomb", "Fork without end.", Naive("unittest", survives)),
    Attack(
        "setsid_grandchild",
        "Leave a daemon behind: a grandchild in a session of its own.",
        Without(
            Defences(seccomp=False, sweep=False),
            survives,
            "what seccomp does not prevent is swept away after each test",
        ),
    ),
    Attack(
        "outliving_threads",
        "Start threads that outlive the call and keep the interpreter from ending.",
        Naive("unittest", hangs),
    ),
    Attack(
        "connect_out",
        "Send what was asked over the network.",
        Without(
            Defences(seccomp=False, landlock=False),
            reaches_out,
            "seccomp refuses sockets, Landlock (from ABI 4) connections",
        ),
    ),
    Attack(
        "listen",
        "Open a port.",
        Without(
            Defences(seccomp=False, landlock=False),
            listens,
            "seccomp refuses sockets, Landlock (from ABI 4) bound ports",
        ),
    ),
    Attack(
        "changed_limits",
        "Raise the resource limits, then lower those that the grader needs itself.",
        Naive("unittest", no_report),
    ),
    Attack(
        "terminal_escapes",
        "Print and raise control sequences that repaint the reader's terminal.",
        Naive("script", paints),
        uses=_EVERY,
    ),
]

_HOARDING = [
    Attack(
        "allocate_10gb",
        "Allocate ten gigabytes, and use more than is allowed.",
        Without(
            Defences(rlimits=False, memory_watch=False),
            bloats,
            "private memory is limited by the kernel and watched from outside",
        ),
        settings={"mib": _HOARD},
        slow=True,
    ),
    Attack(
        "shared_mapping",
        "Use shared memory, which RLIMIT_DATA does not count.",
        Without(Defences(memory_watch=False), bloats),
        settings={"mib": _HOARD},
        slow=True,
    ),
    Attack(
        "shared_mapping_in_silence",
        "The same with the output closed, so that the grader's wait always returns at once.",
        Without(Defences(memory_watch=False), bloats),
        payload="shared_mapping",
        settings={"mib": _HOARD, "quiet": True},
        slow=True,
    ),
    Attack(
        "shared_mapping_with_chatter",
        "The same while printing without pause, so that the grader never has time to look.",
        Without(Defences(memory_watch=False), bloats),
        payload="shared_mapping",
        settings={"mib": _HOARD, "chatter": True},
        slow=True,
    ),
    Attack(
        "endless_recursion",
        "Recurse without a limit until memory is used up.",
        Naive("script", bloats, {"levels": 2_000_000}),
        uses=_EVERY,
        settings={"levels": 10**12},
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "gigabyte_of_output",
        "Print a gigabyte.",
        Naive("unittest", bloats, {"mib": 60}),
        payload="flood_of_output",
        settings={"mib": 500},
        slow=True,
    ),
    Attack(
        "oversized_frame",
        "Announce an answer of four gigabytes and start to send it.",
        Naive("child", bloats),
        uses=_WIRE,
    ),
]

_HANGING = [
    Attack(
        "swallow_everything",
        "Loop in a way that no exception and no polite signal ends.",
        Naive("unittest", hangs),
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "half_frame",
        "Announce an answer and send a tenth of it.",
        Naive("child", hangs),
        uses=_WIRE,
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "looping_repr",
        "Return an object that takes forever to be written down.",
        Naive("unittest", hangs),
        uses=_EVERY,
        settings={"how": "return"},
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "looping_message",
        "Raise an exception whose message takes forever.",
        Naive("script", hangs),
        payload="looping_repr",
        uses=_EVERY,
        settings={"how": "raise"},
        slow=True,
        seconds=1.0,
    ),
]

ON_THE_MACHINE: tuple[Attack, ...] = (
    *_SECRETS,
    *_DAMAGE,
    *_HOARDING,
    *_HANGING,
)
