def _linger():
    import threading
    import time

    def stay():
        for _ in range(300):
            time.sleep(0.1)

    for _ in range(100):
        try:
            threading.Thread(target=stay).start()
        except RuntimeError:
            break


_linger()
