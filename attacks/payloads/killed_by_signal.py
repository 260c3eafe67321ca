import os
import signal

signal.signal(_KNOWN["signal"], signal.SIG_DFL)
os.kill(os.getpid(), _KNOWN["signal"])
