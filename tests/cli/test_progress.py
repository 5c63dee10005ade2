"""Drawn progress: plain lines in a pipe, live lines on a terminal, nothing with --json."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Mapping

import pytest

from trimtab.build import cmake_runner
from trimtab.cli import _progress as progress
from trimtab.cli._progress import Shown, shown
from trimtab.progress import SILENT

# Draws twenty times a second and tells all times, so that the tests need not last.
BEGIN = """
import sys, time
from trimtab.cli import _progress as progress
progress.REFRESHES_PER_S, progress.MIN_REPORTED_S = 20, 0.05
progress = progress.shown()
"""
SCRIPT = f"""{BEGIN}
print("the result")
with progress.step("prepare"):
    progress.note("a note \\x1b[31m about 'it'")
    with progress.step("push it", "bytes") as step:
        for done in range(0, 3_000_001, 500_000):
            step.update(done, 3_000_000, "detail")
            time.sleep(0.01)
with progress.step("build", "steps") as step:
    for done in range(1, 9):
        step.update(done, 8, f"compile {{done}}.cpp")
        time.sleep(0.04)
with progress.step("short"):
    pass
"""
SECONDS = re.compile(r"\d+\.\d s")


def lines(text: str) -> list[str]:
    return [SECONDS.sub("S", line) for line in text.splitlines()]


def test_a_pipe_gets_plain_lines() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "the result\n"
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr)
    assert lines(done.stderr) == [
        *("prepare", "  a note \\x1b[31m about 'it'", "  push it", "    3.0 MB in S", "  S"),
        *("build", "  8 steps in S", "short"),
    ]


def on_a_terminal(script: str, environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The output of a script on stdout, a pipe, and on stderr, a terminal."""
    ours, theirs = pty.openpty()
    inherited = {key: value for key, value in os.environ.items() if key != "CI"}
    environment = inherited | {"TERM": "xterm", "COLUMNS": "100"} | dict(environment or {})
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as child:
        os.close(theirs)
        observed = b""
        try:
            while data := os.read(ours, 65536):
                observed += data
        except OSError:  # the terminal's other side was closed
            pass
        assert child.stdout
        output = child.stdout.read().decode()
    os.close(ours)
    assert child.returncode == 0, observed
    return output, observed.decode()


def screen(written: str) -> list[str]:
    """The lines that are left on a terminal: it goes up, clears lines, and writes over them."""
    rows, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", written):
        if piece == "\n":
            row, column = row + 1, 0
            rows += [""] * (row == len(rows))
        elif piece == "\r":
            column = 0
        elif not piece.startswith("\x1b"):
            rows[row] = rows[row][:column].ljust(column) + piece + rows[row][column + len(piece) :]
            column += len(piece)
        elif piece.endswith("A"):
            row -= int(piece[2:-1] or 1)
        elif piece.endswith("K"):
            rows[row] = ""
    return [line.rstrip() for line in rows if line.strip()]


def test_a_terminal_shows_progress_bars_and_keeps_notes() -> None:
    output, written = on_a_terminal(SCRIPT)
    assert output == "the result\n"
    assert re.search(r"━.*[2-7] of 8 steps.*compile [2-7]\.cpp", written)
    assert [SECONDS.sub("S", line) for line in screen(written)] == [
        *("prepare", "  a note \\x1b[31m about 'it'", "  push it: 3.0 MB in S", "  S"),
        *("build: 8 steps in S", "short"),
    ]


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_ci_and_dumb_terminals_get_no_progress_bars(environment: dict[str, str]) -> None:
    _, written = on_a_terminal(SCRIPT, environment)
    assert "\x1b" not in written
    assert "  8 steps in" in written


def test_an_error_leaves_the_current_step_and_a_cursor() -> None:
    script = "try:\n  with progress.step('outer'):\n    with progress.step('inner'):\n      1 / 0\n"
    script += "except ZeroDivisionError:\n  progress.note('after')"
    _, written = on_a_terminal(BEGIN + script)
    assert screen(written) == ["outer", "  inner", "after"]
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_nothing_is_drawn_while_a_step_is_still() -> None:
    script = "with progress.step('measure', 'turns', still={still}) as step:\n"
    script += "  step.update(1, 3); print('<', file=sys.__stderr__); time.sleep(0.3)\n"
    script += "  print('>', file=sys.__stderr__); step.update(2, 3)"
    drawn = {}
    for still in (True, False):
        _, written = on_a_terminal(BEGIN + script.format(still=still))
        drawn[still] = written.partition("<")[2].partition(">")[0].strip()
        assert "2 of 3 turns" in written or not still  # an update draws at once where no clock does
    assert drawn[True] == ""
    assert "measure" in drawn[False]


def test_nothing_is_drawn_within_a_still_step() -> None:
    script = (
        "with progress.step('measure', still=True), progress.step('launch', 'turns') as step:\n"
    )
    script += "  step.update(1, 3); print('<', file=sys.__stderr__); time.sleep(0.3)\n"
    script += "  print('>', file=sys.__stderr__)"
    _, written = on_a_terminal(BEGIN + script)
    assert written.partition("<")[2].partition(">")[0].strip() == ""


def test_quiet_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    silent = shown(quiet=True)
    assert silent is SILENT
    with silent.step("long") as step:
        silent.note("note")
        step.update(1, 2)
    assert capfd.readouterr() == ("", "")


def test_a_long_step_prints_its_duration(capfd: pytest.CaptureFixture[str]) -> None:
    with Shown(is_live=False).step("download"):
        time.sleep(0.55)
    assert capfd.readouterr().err in {f"download\n  {n / 10} s\n" for n in range(5, 30)}


def test_long_work_in_a_pipe_says_how_far_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    monkeypatch.setattr(progress, "MIN_ESTIMATED_S", 0.0)
    drawn = Shown(is_live=False)
    with drawn.step("build", "cells") as cells, drawn.step("compile"):
        cells.update(3, 18)
        time.sleep(0.3)
    out = capfd.readouterr().err
    assert re.search(r"build: 3 of 18 cells, about .+ left; compile, .+ so far\n", out)
    assert out.count("3 of 18") >= 2


def test_the_steps_of_a_build_are_those_that_ninja_counts(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MIN_REPORTED_S", 0.0)
    with cmake_runner.BuildSteps("build it", Shown(is_live=False)) as work:
        work.count("[0/2] Re-checking globbed directories...\n")
        assert capfd.readouterr().err == ""
        work.count("[1/3] Building CXX object x.o\n")
        work.count("[3/3] Linking CXX executable x\n")
    messages = SECONDS.sub("S", capfd.readouterr().err)
    assert messages == "build it\n  compile\n    3 steps in S\n  S\n"


def test_the_remaining_time_is_in_proportion_to_what_is_done() -> None:
    with Shown(is_live=False).step("work", "samples") as step:
        pass
    step.begin_s = time.monotonic() - 10
    assert step.left_s is None
    step.update(2, 10)
    assert step.left_s == pytest.approx(40, rel=0.01)
    step.update(10, 10)
    assert step.left_s is None
    step.begin_s = time.monotonic()
    step.update(2, 10)
    assert step.left_s is None  # too early
