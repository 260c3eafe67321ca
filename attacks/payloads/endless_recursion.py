def _dive(*arguments, **keywords):
    import sys

    sys.setrecursionlimit(2**31 - 1)

    def down(level):
        return down(level - 1) if level else None

    down(_KNOWN["levels"])


_replace_functions(_dive)
