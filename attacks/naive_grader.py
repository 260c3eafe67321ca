"""Graders as many courses have them, to show what each attack does where nothing stops it.

A toy homework (`double`, `spell`, `program`) is graded in four usual ways, all of which import the student's
module into a process that is trusted:

- `unittest`: a TestCase under the JSON runner of `gradescope_utils`, with an alarm as time limit;
- `pytest`: the same TestCase under pytest, full points for what did not fail;
- `script`: a loop with `except Exception`, answers compared with `==`, the working folder tidied at the end;
- `child`: the tests run in a child process, which sends its verdict through a pipe.

Run as `python naive_grader.py RUNNER FOLDER UID`, where FOLDER holds `student.py` and
`submission_metadata.json`; results go to `FOLDER/results.json`. Started as root it first becomes UID and
limits itself, so that an attack which succeeds here hurts nobody.
"""

# ruff: noqa: PT009

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import signal
import sys
import types
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradescope_utils.autograder_utils.json_test_runner as json_runner
import numpy as np
import numpy.testing
from gradescope_utils.autograder_utils.decorators import weight

STARTER = '''"""The toy homework."""

from __future__ import annotations

import numpy as np


def double(x: np.ndarray) -> np.ndarray:
    """Twice x."""
    raise NotImplementedError("double")


def spell(number: int) -> str:
    """The number's name."""
    raise NotImplementedError("spell")


def program() -> list[list]:
    """A program that computes 2 x + 1, as steps `[operation, number]`."""
    raise NotImplementedError("program")
'''

SOLUTION = (
    STARTER.replace('raise NotImplementedError("double")', "return x * x.dtype.type(2)")
    .replace('raise NotImplementedError("spell")', 'return {3: "three"}[number]')
    .replace('raise NotImplementedError("program")', 'return [["mul", 2], ["add", 1]]')
)

SECONDS = 1
_MEBIBYTE = 1 << 20
metadata: dict[str, Any] = {}


def _operations(program: list[list]) -> list[str]:
    return [step[0] for step in program]


def _execute(program: list[list], x: np.ndarray) -> np.ndarray:
    steps: dict[str, Callable[..., Any]] = {
        "mul": np.multiply,
        "add": np.add,
        "repeat": np.repeat,
    }
    for operation, number in program:
        x = steps[operation](x, number)
    return x


def _too_slow(*_: Any) -> None:
    raise TimeoutError(f"no answer within {SECONDS} s")


class ToyTests(unittest.TestCase):
    """Tests beside the student's code, as they are usually written."""

    def setUp(self) -> None:
        signal.signal(signal.SIGALRM, _too_slow)
        signal.alarm(SECONDS)
        self.student = importlib.import_module("student")

    def tearDown(self) -> None:
        signal.alarm(0)

    @weight(10)
    def test_double(self) -> None:
        x = np.arange(3, dtype=np.float32)
        expected = 2 * x
        np.testing.assert_allclose(self.student.double(x), expected)

    @weight(10)
    def test_double_is_close(self) -> None:
        x = np.ones((2, 3), np.float32)
        off = np.abs(self.student.double(x) - 2 * x)
        self.assertFalse(np.any(off > 1e-6))

    @weight(10)
    def test_double_all_close(self) -> None:
        x = np.ones(3, np.float32)
        self.assertTrue(np.allclose(self.student.double(x), 2 * x))

    @weight(10)
    def test_spell(self) -> None:
        expected = "three"
        self.assertEqual(self.student.spell(3), expected)

    @weight(10)
    def test_program_has_two_steps(self) -> None:
        describe = importlib.import_module("describe")
        self.assertEqual(describe.operations(self.student.program()), ["mul", "add"])

    @weight(10)
    def test_program_computes(self) -> None:
        x = np.ones(1, np.float32)
        self.assertEqual(_execute(self.student.program(), x)[0], 3)


def run_unittest(folder: Path) -> None:
    """The usual `run_tests.py`."""
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(ToyTests)
    with (folder / "results.json").open("w") as stream:
        json_runner.JSONTestRunner(stream=stream, visibility="visible").run(suite)


class _Scores:
    """Full points for every test that was not reported as failed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.failed, self.names = folder, set[str](), set[str]()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.names.add(report.nodeid)
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        tests = [{"name": name, "score": 0 if name in self.failed else 10} for name in sorted(self.names)]
        (self.folder / "results.json").write_text(json.dumps({"tests": tests}))


def run_pytest(folder: Path) -> None:
    """The same tests under pytest."""
    pytest = importlib.import_module("pytest")
    arguments = [__file__, "-q", "-c", os.devnull, f"--rootdir={Path(__file__).parent}", "--import-mode=importlib"]
    pytest.main([*arguments, "-p", "no:cacheprovider"], plugins=[_Scores(folder)])


def run_script(folder: Path) -> None:
    """A loop over questions; what was printed is kept for the report."""
    questions: list[tuple[str, list[Any], Any]] = [
        ("spell", [3], "three"),
        ("program", [], [["mul", 2], ["add", 1]]),
    ]
    tests, printed = [], io.StringIO()
    for name, arguments, expected in questions:
        score, got = 0, None
        with contextlib.redirect_stdout(printed):
            try:
                got = getattr(importlib.import_module("student"), name)(*arguments)
            except Exception as error:
                output = f"{type(error).__name__}: {error}"
            else:
                score = 10 if got == expected else 0
                output = f"expected {expected}, got {got}"
        print(output)
        tests.append({"name": name, "score": score, "output": output, "got": got})
    _tidy(folder / "scratch")
    report = json.dumps({"tests": tests, "output": printed.getvalue()}, ensure_ascii=False, default=str)
    (folder / "results.json").write_text(report, "utf-8")


def _tidy(folder: Path) -> None:
    """Make everything writable, then remove it."""
    for path in folder.iterdir():
        path.chmod(0o777)
        if path.is_dir() and not path.is_symlink():
            _tidy(path)
            path.rmdir()
        else:
            path.unlink()


def run_child(folder: Path) -> None:
    """The verdict comes as a frame: four bytes of length, then JSON."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write_end, 3)
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(ToyTests).run(result)
        bad = len(result.failures) + len(result.errors)
        verdict = json.dumps({"score": 10 * (result.testsRun - bad)}).encode()
        os.write(3, len(verdict).to_bytes(4, "big") + verdict)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        length = int.from_bytes(stream.read(4), "big")
        body = bytearray()
        while len(body) < length and (piece := stream.read(min(1 << 16, length - len(body)))):
            body += piece
        verdict = json.loads(body)
    os.waitpid(pid, 0)
    tests = [{"name": "all tests", "score": verdict["score"]}]
    (folder / "results.json").write_text(json.dumps({"tests": tests}))


RUNNERS = {"unittest": run_unittest, "pytest": run_pytest, "script": run_script, "child": run_child}


def _limit_ourselves(uid: int) -> None:
    for which, value in (
        (resource.RLIMIT_NPROC, 200),
        (resource.RLIMIT_AS, 16_384 * _MEBIBYTE),
        (resource.RLIMIT_DATA, 1_536 * _MEBIBYTE),
        (resource.RLIMIT_FSIZE, 1_024 * _MEBIBYTE),
        (resource.RLIMIT_CPU, 20),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(which, (value, value))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def main(runner: str, folder: Path, uid: int) -> None:
    """Grade `folder/student.py` with one of the runners."""
    if runner == "pytest":
        importlib.import_module("pytest")  # While we may read where it lies.
    _limit_ourselves(uid)
    describe = types.ModuleType("describe")
    describe.operations = _operations  # type: ignore[attr-defined]
    sys.modules["describe"] = describe
    sys.path.insert(0, str(folder))
    scratch = folder / "scratch"
    scratch.mkdir()
    os.chdir(scratch)
    metadata.update(json.loads((folder / "submission_metadata.json").read_text()))
    RUNNERS[runner](folder)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
