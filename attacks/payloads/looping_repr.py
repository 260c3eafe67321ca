class _Endless:
    """Writing it down takes forever, and nothing interrupts it."""

    def __repr__(self):
        import time

        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                while time.monotonic() < end:
                    time.sleep(0.01)
            except BaseException:
                pass
        return "at last"

    __str__ = __format__ = __repr__

    def __iter__(self):
        return iter(())

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class _EndlessError(ValueError):
    __str__ = __repr__ = _Endless.__repr__


def _give(*arguments, **keywords):
    if _KNOWN["how"] == "raise":
        raise _EndlessError
    return _Endless()


_replace_functions(_give)
