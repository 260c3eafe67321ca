"""The autograder of tpulab: student code runs in a worker, checks run in a process it cannot reach."""
