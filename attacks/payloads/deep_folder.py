def _dig():
    """A folder so deep that walking it by recursion, or naming it by its path, fails."""
    import os

    try:
        for _ in range(1_500):
            os.mkdir("d")
            os.chdir("d")
        open("treasure", "w").close()
    except OSError as error:
        print(error, flush=True)


_dig()
