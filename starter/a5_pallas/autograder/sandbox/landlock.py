"""File access for the worker: its interpreter and its own folders, whatever the permissions elsewhere say.

A Landlock ruleset is made once, by the zygote, and entered by each worker after it gave up its privileges.
Kernels without Landlock (before 5.13, or a container whose profile refuses it) leave file permissions as
the only wall; `sandbox.host` therefore also closes private folders to other users.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NETWORK_FROM_ABI, _NETWORK_ALL = 4, 0b11
_SCOPE_FROM_ABI, _SCOPE_ALL = 6, 0b11
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | (1 << 14) | (1 << 15)

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Landlock's version in this kernel; 0 where there is none."""
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    return max(version, 0)


def ruleset(readable: Iterable[str], writable: Iterable[str]) -> int:
    """A ruleset's file descriptor: everything below `readable` may be read, below `writable` written too.

    Paths that do not exist are left out. Raises `OSError` where the kernel refuses.
    """
    version = abi()
    handled = _ALL_BY_ABI[min(version, max(_ALL_BY_ABI))]
    network = _NETWORK_ALL if version >= _NETWORK_FROM_ABI else 0
    scope = _SCOPE_ALL if version >= _SCOPE_FROM_ABI else 0
    attributes = struct.pack("=QQQ", handled, network, scope)
    size = 8 if not network else 16 if not scope else 24
    fd = _libc.syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    for paths, rights in ((readable, _READ), (writable, handled)):
        for path in paths:
            _allow(fd, path, rights & handled)
    return fd


def _allow(ruleset_fd: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_ONLY
        rule = struct.pack("=Qi", rights, fd)
        done = _libc.syscall(
            _ADD_RULE,
            ctypes.c_int(ruleset_fd),
            ctypes.c_int(_RULE_PATH_BENEATH),
            ctypes.c_char_p(rule),
            ctypes.c_uint32(0),
        )
        if done != 0:
            raise OSError(ctypes.get_errno(), f"landlock_add_rule({path})")
    finally:
        os.close(fd)


def enter(ruleset_fd: int) -> None:
    """Put the calling process under the ruleset for good. Needs `no_new_privs`."""
    if _libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset_fd), ctypes.c_uint32(0)) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
