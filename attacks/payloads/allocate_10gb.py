def _hoard():
    """Ask for ten gigabytes, use somewhat more than is allowed."""
    import mmap
    import time

    try:
        vast = mmap.mmap(-1, 10 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, MemoryError):
        vast = b""
    held = [b"\1" * (16 << 20) for _ in range(_KNOWN["mib"] // 16)]
    time.sleep(0.3)
    raise RuntimeError(f"HELD {len(held) * 16} MiB and {len(vast) >> 20} more")


_hoard()
