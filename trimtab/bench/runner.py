"""The on-device runner as a command: its arguments, and the interpretation of its output.

Its output is checked here, once, against the table in `trimtab.bench.runner_events`: the rest of
the package can rely on its fields, and on at least one measured run in a successful launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.bench import runner_events
from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceError, DeviceFullError, RunnerCrashedError, RunnerError
from trimtab.results.records import Event

# Of Linux, which devices run: other hosts have other numbers.
_SIGNALS = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2"),
    *("PIPE", "ALRM", "TERM"),
)
_SIGNAL_HINTS: Mapping[int, str] = {
    4: "the CPU lacks instructions of the build: build with another --cpu",
    9: "the device probably ran out of memory: see its kernel log",
}

_NOT_STARTED = (126, 127)  # a shell's exit codes for a program that it cannot start


@dataclass(frozen=True)
class Command:
    """One launch of the runner, with paths on the device.

    `model` is None if it is embedded, `cores` None if the runner is not pinned. `period_us`: time
    between frames; 0 if runs follow each other. `train`: the checkpoint of a training, which is
    written each `save_every` steps and at the end. `tensors`: the file of the operators' results,
    from operator `tensors_from` on, up to `tensors_bytes`.
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
    period_us: int = 0
    train: str = ""
    save_every: int = 0
    tensors: str = ""
    tensors_from: int = 0
    tensors_bytes: int = 0

    def argv(self) -> list[str]:
        """The argument list of the launch."""
        argv = [self.runner, *([self.model] if self.model else [])]
        for path in self.inputs:
            argv += ["--input", path]
        if self.output_dir:
            argv += ["--output-dir", self.output_dir]
        argv += ["--cores", self.cores] if self.cores else []
        argv += ["--threads", str(self.threads), "--warmup", str(self.warmup)]
        argv += ["--runs", str(self.runs), "--min-time-ms", str(self.min_time_ms)]
        argv += ["--counters", self.counters] if self.counters else []
        argv += ["--period-us", str(self.period_us)] if self.period_us else []
        argv += ["--train", self.train] if self.train else []
        argv += ["--save-every", str(self.save_every)] if self.save_every else []
        if self.tensors:
            argv += ["--tensors", self.tensors, "--tensors-from", str(self.tensors_from)]
            argv += ["--tensors-bytes", str(self.tensors_bytes)]
        flags = {"--per-op": self.per_op, "--markers": self.markers}
        return argv + [flag for flag, is_set in flags.items() if is_set]


@dataclass(frozen=True)
class LaunchResult:
    """The events of a launch up to its end, and its error, if any."""

    events: tuple[Event, ...]
    error: DeviceError | None


def interpret(result: CommandResult, kind: str = runner_events.INFERENCE) -> LaunchResult:
    """Interprets the runner's output. Events before a failure stay, since they may explain it."""
    output = runner_events.read(result.stdout, kind)
    return LaunchResult(output.events, _failure(result, output, kind))


def output_dims(events: Sequence[Event]) -> dict[int, tuple[int, ...]]:
    """The shapes that a launch tells, by the outputs' positions: those that may depend on data."""
    return {event["i"]: tuple(event["dims"]) for event in events if event["event"] == "output"}


def cut_off(stdout: bytes, error: DeviceError) -> LaunchResult:
    """The result of a launch that `error` ended from outside: its complete lines of output."""
    return LaunchResult(runner_events.read(stdout.rpartition(b"\n")[0]).events, error)


def _failure(
    result: CommandResult, output: runner_events.RunnerOutput, kind: str
) -> DeviceError | None:
    events = output.events
    stderr = result.stderr.decode(errors="replace").strip()[-400:]
    last = events[-1] if events else {}
    if not result.ok and "No space left" in f"{last.get('message', '')}{stderr}":
        return DeviceFullError(
            "the device has no space for the runner's output",
            hint="free some space in `directory` of the device's definition",
        )
    message = f"; its stderr: {stderr}" if stderr else ""
    after = f" after the event {events[-1]['event']!r}" if events else " before its first event"
    if result.signal is not None:
        return RunnerCrashedError(
            f"the runner was killed by signal {signal_name(result.signal)}{after}{message}",
            hint=_SIGNAL_HINTS.get(result.signal, "this is a bug in trimtab: please report it"),
        )
    if events and events[-1]["event"] == "error":
        return RunnerError(f"the runner reports: {events[-1]['message']}")
    if result.exit_code in _NOT_STARTED and not events:
        return RunnerError(
            f"the device cannot start the runner: exit code {result.exit_code}{message}",
            hint="was it built for this machine, and does its file system allow programs (`mount` "
            "shows `noexec`)? docs/devices.md lists what a device needs",
        )
    if result.exit_code != 0:
        return RunnerError(f"the runner ended with exit code {result.exit_code}{after}{message}")
    if output.error is not None:
        return RunnerError(
            f"the runner's output violates its protocol: {output.error}",
            hint="the binary on the device is not a trimtab runner, or has another version",
        )
    if missing := runner_events.missing(events, kind):
        return RunnerError(f"the runner's output stops{after}, without {missing[0]}{message}")
    if events[-1]["status"] != "OK":
        return RunnerError(f"the runner ended with status {events[-1]['status']}{message}")
    return None


def signal_name(number: int) -> str:
    """The number of a signal of Linux, and its name if it has one."""
    named = 1 <= number <= len(_SIGNALS)
    return f"{number} (SIG{_SIGNALS[number - 1]})" if named else str(number)
