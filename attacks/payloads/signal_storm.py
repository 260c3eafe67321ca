def _storm():
    """Kill what can be reached: the grader, the zygote, a bystander, the own group."""
    import os
    import signal

    for pid in (_KNOWN["bystander_pid"], _KNOWN["grader_pid"], os.getppid()):
        if pid <= 1:
            continue
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(pid, number)
            except OSError as error:
                print(pid, error, flush=True)
    os.killpg(0, signal.SIGKILL)


_storm()
