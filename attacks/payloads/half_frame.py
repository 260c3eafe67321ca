def _dawdle():
    """Announce a hundred bytes, send ten."""
    import os
    import time

    sock = _grader_socket()
    os.write(3 if sock is None else sock.fileno(), b"\x00\x00\x00\x64" + b"0123456789")
    time.sleep(30)


_dawdle()
