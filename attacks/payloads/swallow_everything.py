def _never_stop():
    import signal
    import time

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            while time.monotonic() < end:
                time.sleep(0.01)
        except BaseException:
            pass


_never_stop()
