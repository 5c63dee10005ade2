"""Scripts in processes of their own, which answer in lines of JSON."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from trimtab import strict_json
from trimtab.errors import RunnerError

_END_SECONDS = 10


def ask_once(
    argv: Sequence[str], where: str, *, cwd: Path | None = None, timeout_s: float | None = None
) -> Any:
    """The JSON in the last line that a process prints, None if it prints nothing.

    RunnerError if it fails, with its last message, answers no JSON, or does not end in `timeout_s`.
    """
    try:
        done = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=timeout_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunnerError(f"the process does not run: {error}", where=where) from error
    if done.returncode:
        message = last_line(done.stderr) or f"exit code {done.returncode}"
        raise RunnerError(f"the process ended: {message}", where=where)
    lines = done.stdout.splitlines()
    try:
        return strict_json.loads(lines[-1]) if lines else None
    except ValueError as error:
        raise RunnerError(f"the process answers {lines[-1][:100]!r}", where=where) from error


class WorkerProcess:
    """A process that answers each line of its input with a line of JSON.

    RunnerError with its last message at `where` if it does not start, or ends without an answer.
    """

    def __init__(
        self, argv: Sequence[str], where: str, env: Mapping[str, str] | None = None
    ) -> None:
        self._where = where
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see close
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
                env=env,
            )  # fmt: skip
        except OSError as error:
            self._errors.close()
            raise RunnerError(f"the process does not run: {error}", where=where) from error
        self.pid = self._process.pid

    def answer(self) -> Any:
        """The next answer."""
        assert self._process.stdout
        if line := self._process.stdout.readline():
            return strict_json.loads(line)
        self._process.wait()
        self._errors.seek(0)
        message = last_line(self._errors.read()) or "it wrote nothing"
        raise RunnerError(f"the process ended: {message}", where=self._where)

    def ask(self, line: str) -> Any:
        """The answer to a line."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has died, which the missing answer shows
            print(line, file=self._process.stdin, flush=True)
        return self.answer()

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def last_line(output: str) -> str:
    """The end of the last line that a program printed, empty without one."""
    return output.strip().rpartition("\n")[2][-300:]
