"""Where student code runs: another process, another user, nothing in reach but its own files and one pipe."""
