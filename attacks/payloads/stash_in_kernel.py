def _stash():
    """The same through System V shared memory, message queues and the kernel's key ring."""
    import ctypes
    import platform

    add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key, size, create = 0x7470756C, 4096, 0o1600
    segment = libc.shmget(key, size, create)
    if segment >= 0:
        address = libc.shmat(segment, None, 0)
        if address not in (None, ctypes.c_void_p(-1).value):
            held = ctypes.string_at(address)
            if held:
                print("STASHED", held, flush=True)
                libc.shmctl(segment, 0, None)
            ctypes.memmove(address, b"what was asked\0", 15)
    keyring = ctypes.c_int(-4)
    buffer = ctypes.create_string_buffer(64)
    found = libc.syscall(keyctl, 10, keyring, b"user", b"tpulab-stash", 0)
    if found >= 0 and libc.syscall(keyctl, 11, found, buffer, 64) > 0:
        print("STASHED", buffer.value, flush=True)
    made = libc.syscall(add_key, b"user", b"tpulab-stash", b"what was asked", 14, keyring)
    if made >= 0:
        libc.syscall(keyctl, 15, made, 30)
    queue = libc.msgget(key, create)
    print("queue", queue >= 0, flush=True)
    if queue >= 0:
        libc.msgctl(queue, 0, None)


_stash()
