def _break():
    """Break the worker's own code, so that it cannot answer any more."""
    import sys

    def broken(*arguments, **keywords):
        raise OSError("broken")

    for name in ("autograder.wire", "autograder.evidence", "student"):
        module = sys.modules.get(name)
        for attribute in ("send_frame", "encode_answer", "of_exception"):
            if module is not None:
                setattr(module, attribute, broken)
    runner = sys.modules.get("gradescope_utils.autograder_utils.json_test_runner")
    if runner is not None:
        runner.JSONTestRunner._makeResult = runner.JSONTestResult.processResult = broken


_break()
