def _babble(*arguments, **keywords):
    """Text that no encoding takes, printed and raised."""
    import os

    try:
        os.write(1, b"\xff\xfe\x00\xc3\x28 \xed\xa0\x80 \x80\n")
    except OSError:
        pass
    print("\N{NULL} \N{REPLACEMENT CHARACTER} \N{RIGHT-TO-LEFT OVERRIDE}", flush=True)

    class Odd(ValueError):
        pass

    odd = Odd("\ud800 \0 \udfff \ufffe")
    odd.field = "\udcff"
    setattr(odd, "\ud834", "\0")
    raise odd


_replace_functions(_babble)
