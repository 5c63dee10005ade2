"""Run records: each run is one immutable JSON Lines file (docs/bench.md describes the format).

The first line is the header: what ran, where, and how it was built. One line per event follows, in
chronological order, with every launch and every raw sample. The last line is `{"event": "end",
"status": ...}`; a file without it is truncated. A file appears under its name only when it is
complete.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Any
from uuid import uuid4

from trimtab import files, strict_json
from trimtab.errors import ResultError, TruncatedResultError
from trimtab.paths import PROGRAM
from trimtab.results import event_shapes

FORMAT = 2
READABLE = (1, 2)  # a run of format 1 is one launch without a `launch` event
SUFFIX = ".jsonl"
CHOICES = ("precision", "weights", "prefer", "accuracy")

Event = dict[str, Any]

WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions of code that computes with values of a record which are not what they should be.
"""

# The annotations of a header's fields that are checked when a record is read.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "str | None": (str, type(None)),
    "int": int,
    "int | None": (int, type(None)),
    "bool": bool,
    "Sequence[str]": list,
    "Mapping[str, Any]": dict,
}


class Status(StrEnum):
    """How a run ended."""

    OK = "OK"
    FAILED = "FAILED"  # the runner reported an error, or its output is wrong
    INFRA = "INFRA"  # a fault of the device or of its link, not of the binary
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"  # killed by a signal
    INACCURATE = "INACCURATE"  # complete, but an output is beyond its bound
    THROTTLED = "THROTTLED"  # complete, but the device throttled during the run
    SKIPPED = "SKIPPED"  # incomplete, because another run of the comparison failed

    @property
    def is_measured(self) -> bool:
        """Whether latency and size are valid: also of a run whose outputs are inaccurate."""
        return self in MEASURED


MEASURED = (Status.OK, Status.INACCURATE)


@dataclass(frozen=True)
class FileFacts:
    """Identity of a measured file: its name, size in bytes, and SHA-256 in hex."""

    name: str
    file_bytes: int
    sha256: str


@dataclass(frozen=True)
class RecordedDevice:
    """The device of a run, as it described itself (`DeviceInfo`); None where a fact is unknown.

    `peak_of` names the process whose peak memory the record has: "runner" or "emulator".
    """

    name: str
    peak_of: str = "runner"
    machine: str = ""
    kernel: str = ""
    cpu: str | None = None
    cpu_count: int | None = None
    memory_bytes: int | None = None
    boot_id: str | None = None
    governor: str | None = None
    frequencies_mhz: Sequence[float] = ()
    temperature_celsius: float | None = None
    is_emulated: bool = False


@dataclass(frozen=True)
class Header:
    """The first line of a record: what ran, on which device, and how it was built.

    `model` is the .ttm file, beside the binary or embedded in it. `is_emulated`: the device's clock
    does not measure speed. `affinity` is the list of cores that launches were pinned to, such as
    "4-7", and verified to run on; None without pinning. `control` holds the device's settings
    during the run, and those that could not be controlled (`Controlled.to_json`). `protocol` holds
    the requested launches, runs, warm-up runs, time and threads, and for an arm of a comparison its
    `comparison` and `arm`. `made_from` is the recipe of the build, empty if it is not known.
    """

    model: FileFacts
    binary: FileFacts
    is_model_embedded: bool
    profile: str
    toolchain: str
    cpu: str
    compiler: str
    flags: Sequence[str]
    device: RecordedDevice
    is_emulated: bool
    protocol: Mapping[str, Any]
    affinity: str | None = None
    control: Mapping[str, Any] = field(default_factory=dict)
    made_from: Mapping[str, Any] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))
    format: int = FORMAT

    @property
    def cell(self) -> Mapping[str, Any]:
        """The axes of the sweep's cell that was measured; empty without a sweep."""
        sweep = self.protocol.get("sweep")
        axes = sweep.get("configuration") if isinstance(sweep, Mapping) else None
        return axes if isinstance(axes, Mapping) else {}

    @property
    def choices(self) -> Mapping[str, str]:
        """The choices for the build, by the name of the option: precision, weights, prefer,
        accuracy. Records of earlier versions have those of a sweep's cell, or none.
        """
        recorded = self.made_from.get("choices")
        values = {**self.cell, **(recorded if isinstance(recorded, Mapping) else {})}
        return {name: str(values[name]) for name in CHOICES if values.get(name)}

    @property
    def build(self) -> str:
        """The build in words, for comparisons: "int8, f32 weights, prefer speed, accuracy
        standard, cortex-a53, 1 thread".
        """
        return ", ".join([*choices_in_words(self.choices).values(), self.cpu, self.threads])

    @property
    def threads(self) -> str:
        """The number of threads in words."""
        count = self.protocol.get("threads", 1)
        return "1 thread" if count == 1 else f"{count} threads"

    @property
    def file_name(self) -> str:
        """The name of the run's file, which sorts by time."""
        stamp = self.time[:26].replace("-", "").replace(":", "")  # 20260131T235959.123456
        model = Path(self.model.name).stem
        return f"{stamp}-{model}-{self.profile}-{self.device.name}-{self.run_id}{SUFFIX}"


def choices_in_words(choices: Mapping[str, str]) -> Mapping[str, str]:
    """The choices for a build, each by its name: "int8", "f16 weights", "prefer size"."""
    forms = {"precision": "{}", "weights": "{} weights"}
    return {name: forms.get(name, f"{name} {{}}").format(value) for name, value in choices.items()}


@dataclass(frozen=True)
class Record:
    """One complete run; `seconds` is its duration, None in records of earlier versions."""

    path: Path
    header: Header
    events: tuple[Event, ...]
    status: Status
    message: str
    seconds: float | None = None

    def of(self, kind: str) -> list[Event]:
        """All events of one kind, in order, without those of discarded launches."""
        return [event for event in self._counted if event["event"] == kind]

    def first(self, kind: str) -> Event | None:
        """The first event of one kind."""
        return next(iter(self.of(kind)), None)

    def launches(self) -> list[list[Event]]:
        """The events of each measured launch that was not discarded, in order.

        Each list begins with its `launch` event, if the format has one.
        """
        launches: list[list[Event]] = []
        for event in self._counted:
            if event["event"] == "launch":
                launches.append([])
            if launches:
                launches[-1].append(event)
        return launches or [list(self._counted)]

    @cached_property
    def _counted(self) -> Sequence[Event]:
        """All events without the launches that were discarded after a disconnect.

        Those reach from their `launch` event to the next one, or to `resumed`.
        """
        resumed = [event for event in self.events if event["event"] == "resumed"]
        discarded = {index for event in resumed for index in event["discarded"]}
        counted, is_discarded = [], False
        for event in self.events:
            if event["event"] == "launch":
                is_discarded = event["index"] in discarded
            elif event["event"] == "resumed":
                is_discarded = False
            if not is_discarded:
                counted.append(event)
        return counted


class Writer:
    """A context manager that writes one record.

    `end` completes the file under its final name. Leaving the context without it, by a bug or
    Ctrl-C, leaves no file.
    """

    def __init__(self, directory: Path, header: Header) -> None:
        """Opens the record of a run. Raises ResultError if `directory` cannot be written."""
        self.path = directory / header.file_name
        self._header = header
        self._begin_s = time.monotonic()
        with self._access():
            self._part = files.PartialFile(self.path)
            self._file: IO[str] | None = self._part.path.open("x", encoding="utf-8")

    def __enter__(self) -> Writer:
        try:
            self.event({"event": "header", **asdict(self._header)})
        except BaseException:
            self._discard()
            raise
        return self

    def event(self, event: Event) -> None:
        """Appends one event. Raises ResultError if it cannot be written."""
        assert self._file is not None, "the record has ended"
        with self._access():
            self._file.write(strict_json.dumps(event, separators=(",", ":")) + "\n")

    def end(self, status: Status, message: str = "") -> None:
        """Writes the end marker, and gives the file its final name."""
        seconds = round(time.monotonic() - self._begin_s, 3)
        end = {"event": "end", "status": status.value, "message": message, "seconds": seconds}
        self.event(end)
        assert self._file is not None
        with self._access():
            self._file.close()
            self._part.commit(durable=True)
        self._file = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._discard()

    def _discard(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # while flushing the buffer
                self._file.close()
            self._part.discard()

    def _access(self) -> AbstractContextManager[None]:
        hint = "free some space, or name another directory with --output"
        return files.access(self.path, error=ResultError, hint=hint)


def read(path: Path) -> Record:
    """Reads a record.

    Raises TruncatedResultError if it has no end marker, and ResultError if it is missing, damaged,
    or of another format.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is not a file")  # a pipe would have no end
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(
            f"the result file cannot be read: {error}",
            where=str(path),
            hint=f"{PROGRAM} report lists all runs",
        ) from error
    whole_lines = text.split("\n")[:-1]  # a last line without newline is truncated
    events = [_parse(path, number, line) for number, line in enumerate(whole_lines, 1)]
    if not events or events[0]["event"] != "header":
        raise _not_a_record(path, "it does not begin with a header")
    if (version := events[0].get("format")) not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise _not_a_record(path, f"it has format {version}, this trimtab reads {readable}")
    if events[-1]["event"] != "end":
        raise TruncatedResultError(
            "the result file is truncated: it has no end marker",
            where=str(path),
            hint="measure again; this file cannot be used",
        )
    try:
        status = Status(events[-1]["status"])
        end = events[-1]
        for event in events:
            event_shapes.check(event)
        header, message = _header(events[0]), str(end["message"])
        return Record(path, header, tuple(events[1:-1]), status, message, end.get("seconds"))
    except WRONG as error:
        raise _not_a_record(path, f"a field is missing or wrong: {error}") from error


def _parse(path: Path, number: int, line: str) -> Event:
    try:
        event = strict_json.loads(line)
    except ValueError as error:
        raise _not_a_record(path, f"line {number} is not JSON") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise _not_a_record(path, f"line {number} is not an event")
    return event


def _header(event: Event) -> Header:
    values = _fields_of(Header, event)
    for key in ("model", "binary"):
        values[key] = FileFacts(**_fields_of(FileFacts, values[key]))
    values["device"] = RecordedDevice(**_fields_of(RecordedDevice, values["device"]))
    return Header(**values)


def _fields_of(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are fields of a dataclass; other versions may write more.

    Raises TypeError for a value that is not of its field's type, or an integer beyond 64 bits.
    """
    types = {field.name: str(field.type) for field in fields(kind)}
    for key, value in values.items():
        expected = _TYPES.get(types.get(key, ""))
        is_too_large = isinstance(value, int) and abs(value) >= 2**63  # for the index
        if is_too_large or (expected and not isinstance(value, expected)):
            raise TypeError(f"{key} is {value!r:.100}")
    return {key: value for key, value in values.items() if key in types}


def _not_a_record(path: Path, reason: str) -> ResultError:
    return ResultError(
        f"not a result file: {reason}", where=str(path), hint=f"measure again: {PROGRAM} bench"
    )
