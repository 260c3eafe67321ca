def _borrow():
    import sys

    sys.path.append(_KNOWN["elsewhere"])
    try:
        import jax
    except ImportError as error:
        print("no jax:", error, flush=True)
    else:
        print("BORROWED", jax.__file__, flush=True)


_borrow()
