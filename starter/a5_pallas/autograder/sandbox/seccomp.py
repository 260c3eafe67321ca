"""A system-call filter for the worker: no new processes, no programs, no network, no shared kernel objects.

Written out as classic BPF rather than through libseccomp, whose shared library is not part of any Python
package and is missing on many hosts. A filter needs no privilege once `no_new_privs` is set. Threads stay
allowed (`clone` with CLONE_THREAD); `clone3` says "not implemented", so that the C library falls back to
`clone`, whose flags a filter can read.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000

# Refused with EPERM: name -> number on (x86_64, aarch64); None where the machine has no such call.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
}

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARG0 = 0, 4, 16
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2


def _instruction(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, k)


def program(machine: str) -> bytes:
    """The filter as BPF bytes for `machine` (`x86_64` or `aarch64`). Raises `KeyError` for another."""
    refuse = _instruction(_RETURN, _ERRNO | errno.EPERM)
    column = ["x86_64", "aarch64"].index(machine)
    parts = [
        _instruction(_LOAD, _OFFSET_ARCH),
        _instruction(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        parts += [_instruction(_JUMP_AT_LEAST, _X32_BIT, 0, 1), refuse]
    for numbers in _REFUSED.values():
        number = numbers[column]
        if number is not None:
            parts += [_instruction(_JUMP_EQUAL, number, 0, 1), refuse]
    parts += [
        _instruction(_JUMP_EQUAL, _CLONE3, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
        _instruction(_JUMP_EQUAL, _CLONE[machine], 0, 3),
        _instruction(_LOAD, _OFFSET_ARG0),
        _instruction(_JUMP_BITS, _CLONE_THREAD, 1, 0),
        refuse,
        _instruction(_RETURN, _ALLOW),
    ]
    return b"".join(parts)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def no_new_privs() -> None:
    """Give up ever gaining privilege (set-uid programs included)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")


def supported() -> bool:
    """Whether a filter exists for this machine."""
    return platform.system() == "Linux" and platform.machine() in _AUDIT_ARCH


def install() -> None:
    """Filter the calling process from now on. Raises `OSError` where the kernel refuses."""
    code = program(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    prog = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(prog), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")
