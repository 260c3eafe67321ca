def _pry():
    """Look for a secret in what /proc shows of the grader and of the zygote, and only there."""
    import os

    canary = _KNOWN["canary"].encode()

    def show(path, offset=0, size=1 << 22):
        try:
            with open(path, "rb") as handle:
                handle.seek(offset)
                data = handle.read(size)
        except (OSError, ValueError, OverflowError) as error:
            return type(error).__name__
        place = data.find(canary)
        if place >= 0:
            print("found:", path, data[place : place + len(canary) + 16].decode("latin-1"), flush=True)
        return "read"

    for pid in (_KNOWN["grader_pid"], os.getppid()):
        said = {name: show(f"/proc/{pid}/{name}") for name in ("environ", "cmdline", "fd/3")}
        for path in _KNOWN["trusted"]:
            said[path] = show(f"/proc/{pid}/root{path}")
        try:
            with open(f"/proc/{pid}/maps") as handle:
                heap = next(line for line in handle if "[heap]" in line).split("-")
            start = int(heap[0], 16)
            said["mem"] = show(f"/proc/{pid}/mem", start, int(heap[1].split()[0], 16) - start)
        except (OSError, StopIteration) as error:
            said["mem"] = type(error).__name__
        print(sorted(set(said.values())), flush=True)


_pry()
