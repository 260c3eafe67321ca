def _flood():
    import sys

    text = "all work and no play " * 50_000
    for _ in range(_KNOWN["mib"]):
        sys.stdout.write(text)
    sys.stdout.flush()


_flood()
