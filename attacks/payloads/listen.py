def _listen():
    import socket

    try:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            print("LISTENING", flush=True)
    except OSError as error:
        print("deaf:", error, flush=True)


_listen()
