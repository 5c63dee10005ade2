"""The on-device runner as a command: its arguments, and the events that it prints.

Its output is checked here, once, against the table in `trimtab.bench.runner_events`: the rest of
the package can rely on its fields, and on at least one measured run in a successful launch.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.bench import runner_events
from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceError, DeviceFullError, RunnerCrashedError, RunnerError
from trimtab.results.records import Event

_SIGNAL_HINTS: Mapping[int, str] = {
    signal.SIGILL: "the CPU lacks instructions that the build uses: build with another --cpu",
    signal.SIGKILL: "probably the device ran out of memory: see its kernel log",
}


@dataclass(frozen=True)
class Command:
    """One launch of the runner, with paths of the device; `model` is None when it is embedded,
    `cores` when it may run wherever the kernel lets it.
    """

    runner: str
    model: str | None
    inputs: Sequence[str]
    output_dir: str | None = None
    threads: int = 1
    cores: str | None = None
    warmup: int = 0
    runs: int = 1
    min_time_ms: int = 0
    per_op: bool = False
    markers: bool = False
    counters: str = ""

    def argv(self) -> list[str]:
        """The launch as an argument list."""
        argv = [self.runner, *([self.model] if self.model else [])]
        for path in self.inputs:
            argv += ["--input", path]
        if self.output_dir:
            argv += ["--output-dir", self.output_dir]
        argv += ["--cores", self.cores] if self.cores else []
        argv += ["--threads", str(self.threads), "--warmup", str(self.warmup)]
        argv += ["--runs", str(self.runs), "--min-time-ms", str(self.min_time_ms)]
        argv += ["--counters", self.counters] if self.counters else []
        flags = {"--per-op": self.per_op, "--markers": self.markers}
        return argv + [flag for flag, given in flags.items() if given]


@dataclass(frozen=True)
class Launch:
    """What came of a launch: the events up to its end, and what went wrong, if something did."""

    events: tuple[Event, ...]
    error: DeviceError | None


def interpret(result: CommandResult) -> Launch:
    """Read what the runner printed; events before a failure are kept, they may explain it."""
    found = runner_events.read(result.stdout)
    return Launch(found.events, _failure(result, found))


def cut_off(stdout: bytes, error: DeviceError) -> Launch:
    """A launch that `error` ended from outside: what the runner had printed of whole lines."""
    return Launch(runner_events.read(stdout.rpartition(b"\n")[0]).events, error)


def _failure(result: CommandResult, found: runner_events.Reading) -> DeviceError | None:
    events = found.events
    stderr = result.stderr.decode(errors="replace").strip()[-400:]
    last = events[-1] if events else {}
    if not result.ok and "No space left" in f"{last.get('message', '')}{stderr}":
        return DeviceFullError(
            "no room on the device for what the runner writes",
            hint="free some space in `directory` of the device's definition",
        )
    said = f"; it said: {stderr}" if stderr else ""
    after = f" after the event {events[-1]['event']!r}" if events else " before its first event"
    if result.signal is not None:
        return RunnerCrashedError(
            f"the runner was killed by signal {_name(result.signal)}{after}{said}",
            hint=_SIGNAL_HINTS.get(result.signal, "this is a bug of trimtab: please report it"),
        )
    if events and events[-1]["event"] == "error":
        return RunnerError(f"the runner reports: {events[-1]['message']}")
    if result.exit_code != 0:
        return RunnerError(f"the runner ended with exit code {result.exit_code}{after}{said}")
    if found.wrong is not None:
        return RunnerError(
            f"the runner's output is not in its protocol: {found.wrong}",
            hint="the binary on the device is not a trimtab runner, or of another version",
        )
    if lacking := runner_events.missing(events):
        return RunnerError(f"the runner's output stops{after}, without {lacking[0]}{said}")
    if events[-1]["status"] != "OK":
        return RunnerError(f"the runner ended with status {events[-1]['status']}{said}")
    return None


def _name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
