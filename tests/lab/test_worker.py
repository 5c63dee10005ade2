"""Processes that answer in lines of JSON."""

from __future__ import annotations

import sys

import pytest

from lab.worker import WorkerProcess, ask_once
from trimtab.errors import RunnerError

DOUBLES = "import sys\nfor line in sys.stdin: print(2 * int(line), flush=True)"


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_the_last_line_of_a_process_is_its_answer() -> None:
    assert ask_once(python("print('noise'); print('{\"a\": [1]}')"), "here") == {"a": [1]}
    assert ask_once(python(""), "here") is None


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit('first\\nout of luck')", "the process ended: out of luck"),
        ("import sys; sys.exit(3)", "the process ended: exit code 3"),
        ("print('{')", "the process answers '{'"),
    ],
)
def test_a_process_that_fails_is_an_error_with_its_last_message(program: str, message: str) -> None:
    with pytest.raises(RunnerError, match=message) as error:
        ask_once(python(program), "squeezenet")
    assert error.value.where == "squeezenet"


def test_a_process_that_does_not_start_or_end_is_an_error() -> None:
    with pytest.raises(RunnerError, match="does not run"):
        ask_once(["/nowhere/python"], "here")
    with pytest.raises(RunnerError, match="does not run"):
        WorkerProcess(["/nowhere/python"], "here")
    with pytest.raises(RunnerError, match=r"timed out after 0\.2 seconds"):
        ask_once(python("import time; time.sleep(60)"), "here", timeout_s=0.2)


def test_each_line_is_answered() -> None:
    with WorkerProcess(python(DOUBLES), "here") as process:
        assert [process.ask(line) for line in ("1", "21")] == [2, 42]


def test_a_process_that_dies_between_answers_is_an_error() -> None:
    with (
        WorkerProcess(python(DOUBLES), "here") as process,
        pytest.raises(RunnerError, match="the process ended: ValueError: invalid literal"),
    ):
        process.ask("one")
