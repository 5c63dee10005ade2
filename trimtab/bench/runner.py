"""The on-device runner as a command: its arguments, and the events that it prints.

The runner (runtime/app) prints one JSON object per line; docs/runner.md lists them. What it prints
is checked here, once: the rest of the package can rely on the fields in `_FIELDS`.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.bench.results import Event
from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceError, RunnerCrashedError, RunnerError

_COUNT = (int,)
_COUNT_OR_NULL = (int, type(None))
_FIELDS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "start": {"version": (str,), "schema": (str,), "threads": _COUNT, "cpu_features": (list,)},
    "load": {"ns": _COUNT, "instructions": _COUNT_OR_NULL},
    "memory": {
        "arena_bytes": _COUNT,
        "arena_lower_bound_bytes": _COUNT,
        "weights_bytes": _COUNT,
        "prepared_bytes": _COUNT,
    },
    "first": {"ns": _COUNT, "instructions": _COUNT_OR_NULL},
    "warmup": {"i": _COUNT, "ns": _COUNT, "instructions": _COUNT_OR_NULL},
    "run": {"i": _COUNT, "ns": _COUNT, "instructions": _COUNT_OR_NULL},
    "op": {
        "run": _COUNT,
        "index": _COUNT,
        "id": _COUNT,
        "name": (str,),
        "ns": _COUNT,
        "instructions": _COUNT_OR_NULL,
    },
    "peak": {"vm_hwm_bytes": _COUNT_OR_NULL},
    "end": {"status": (str,)},
    "error": {"code": _COUNT, "message": (str,)},
}
_SIGNAL_HINTS: Mapping[int, str] = {
    signal.SIGILL: "the CPU lacks instructions that the build uses: build with another --cpu",
    signal.SIGKILL: "probably the device ran out of memory: see its kernel log",
}


@dataclass(frozen=True)
class Command:
    """One launch of the runner, with paths of the device; `model` is None when it is embedded."""

    runner: str
    model: str | None
    inputs: Sequence[str]
    output_dir: str | None = None
    threads: int = 1
    warmup: int = 0
    runs: int = 1
    min_time_ms: int = 0
    per_op: bool = False
    markers: bool = False
    verify: bool = False

    def argv(self) -> list[str]:
        """The launch as an argument list."""
        argv = [self.runner, *([self.model] if self.model else [])]
        for path in self.inputs:
            argv += ["--input", path]
        if self.output_dir:
            argv += ["--output-dir", self.output_dir]
        argv += ["--threads", str(self.threads), "--warmup", str(self.warmup)]
        argv += ["--runs", str(self.runs), "--min-time-ms", str(self.min_time_ms)]
        flags = {"--per-op": self.per_op, "--markers": self.markers, "--verify": self.verify}
        return argv + [flag for flag, given in flags.items() if given]


@dataclass(frozen=True)
class Launch:
    """What came of a launch: the events up to its end, and what went wrong, if something did."""

    events: tuple[Event, ...]
    error: DeviceError | None


def interpret(result: CommandResult) -> Launch:
    """Read what the runner printed; events before a failure are kept, they may explain it."""
    events, broken = _events(result.stdout.splitlines())
    return Launch(events, _failure(result, events, broken))


def cut_off(stdout: bytes, error: DeviceError) -> Launch:
    """A launch that `error` ended from outside: what the runner had printed of whole lines."""
    return Launch(_events(stdout.rpartition(b"\n")[0].splitlines())[0], error)


def _events(lines: Sequence[bytes]) -> tuple[tuple[Event, ...], RunnerError | None]:
    """The events up to the first line that is none, and what is wrong with it."""
    events: list[Event] = []
    for number, line in enumerate(lines, 1):
        try:
            events.append(_event(line))
        except ValueError as error:
            broken = RunnerError(
                f"line {number} of the runner's output is not in its protocol: {error}: "
                f"{line[:80]!r}",
                hint="the binary on the device is not a trimtab runner, or of another version",
            )
            return tuple(events), broken
    return tuple(events), None


def _failure(
    result: CommandResult, events: Sequence[Event], broken: RunnerError | None
) -> RunnerError | None:
    stderr = result.stderr.decode(errors="replace").strip()[-400:]
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
    if broken is not None:
        return broken
    if not events or events[-1]["event"] != "end":
        return RunnerError(f"the runner's output stops{after}{said}")
    if events[-1]["status"] != "OK":
        return RunnerError(f"the runner ended with status {events[-1]['status']}{said}")
    return None


def _name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _event(line: bytes) -> Event:
    event: Any = json.loads(line, parse_constant=_reject)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("not an event")
    for name, types in _FIELDS.get(event["event"], {}).items():
        if name not in event:
            raise ValueError(f"{event['event']} without {name}")
        if type(event[name]) not in types:
            raise ValueError(f"{name} is of a wrong type")
    return event


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
