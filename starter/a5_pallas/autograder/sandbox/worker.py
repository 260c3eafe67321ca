"""The worker's loop: read a request, run the probe beside the student's code, answer with data.

It runs with the student's privileges and in the student's reach, so nothing here is trusted: whatever it
sends is evidence that the other side checks.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import msgspec

from autograder import evidence, wire

# Sent before the first request, hence before any student code runs: what fails earlier is the grader's fault.
READY = b"ready"


def run(probe: Any, arguments: list[Any], state: dict[str, Any]) -> Any:
    """Call a probe; one with a parameter called `state` gets the test's own dictionary of handles."""
    names = probe.__code__.co_varnames[: probe.__code__.co_argcount + probe.__code__.co_kwonlyargcount]
    return probe(*arguments, state=state) if "state" in names else probe(*arguments)


def serve(sock: socket.socket, root: Path, answer_limit: int) -> None:
    """Say that the worker is ready, then answer requests until the other side closes the socket."""
    wire.send_frame(sock, READY)
    state: dict[str, Any] = {}
    while True:
        try:
            frame = wire.receive_frame(sock.recv, wire.MAX_REQUEST)
        except EOFError:
            return
        sequence, probe, arguments = wire.decode_request(frame)
        try:
            payload = wire.encode_answer(_answer(sequence, run(probe, arguments, state)), answer_limit)
        except BaseException as error:
            failure = evidence.Answer(sequence, error=evidence.of_exception(error, root))
            payload = wire.encode_answer(msgspec.to_builtins(failure), answer_limit)
        wire.send_frame(sock, payload)


def _answer(sequence: int, value: Any) -> dict[str, Any]:
    return {"sequence": sequence, "value": value}
