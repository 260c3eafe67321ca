def _raise():
    kinds = {"SystemExit": SystemExit, "KeyboardInterrupt": KeyboardInterrupt}

    class Leave(kinds[_KNOWN["kind"]]):
        """An exception that is no `Exception`."""

    raise Leave("done")


_raise()
