import os

os._exit(_KNOWN.get("code", 0))
