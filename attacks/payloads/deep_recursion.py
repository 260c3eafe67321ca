def _dive():
    """A chain of iterators overflows the C stack, on which no recursion limit is kept."""
    chain = iter(())
    for _ in range(150_000):
        chain = filter(None, chain)
    next(chain, None)


_dive()
