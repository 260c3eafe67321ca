def _borrow():
    import sys

    sys.path.append(_KNOWN["elsewhere"])
    try:
        import jax
    except ImportError as error:
        print("no jax:", error, flush=True)
        return
    if jax.__file__.startswith(_KNOWN["elsewhere"]):
        print("BORROWED", jax.__file__, flush=True)


_borrow()
