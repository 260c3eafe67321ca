def _daemonise():
    import os
    import time

    try:
        if os.fork():
            return
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(20)
        os._exit(0)
    except OSError:
        return


_daemonise()
