def _bomb():
    """Fork as much as one is let; bounded, so that a control hurts nobody."""
    import os
    import time

    for _ in range(40):
        try:
            pid = os.fork()
        except OSError:
            return
        if pid == 0:
            time.sleep(20)
            os._exit(0)


_bomb()
