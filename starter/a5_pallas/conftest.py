"""Loads the plugin that runs your code, explains failures and prints your points."""

import os

# JAX sizes its pools by NPROC; with a single thread, the interpreter of TPU memories in JAX 0.10 waits for itself.
os.environ["NPROC"] = str(max(2, int(os.environ.get("NPROC") or 4)))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # compiling is what takes the time in these tests

pytest_plugins = ["autograder.kit.plugin"]
