"""Result records: one run is one immutable JSON Lines file.

The first line is the header (what ran, where, built how), then one line per event in the order in
which it happened, with every launch and every raw sample, and a last line
`{"event": "end", "status": ...}`. A file without it is truncated. The format is described in
docs/bench.md. A file appears under its name when it is complete.
"""

from __future__ import annotations

import json
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

from trimtab import files
from trimtab.errors import ResultError, TruncatedResultError

FORMAT = 2
READABLE = (1, 2)  # a run of format 1 was one launch, which no event announces
SUFFIX = ".jsonl"

Event = dict[str, Any]


class Status(StrEnum):
    """How a run ended."""

    OK = "OK"
    FAILED = "FAILED"  # the runner reported an error, or its output is wrong
    INFRA = "INFRA"  # the device or the way to it, not what was measured
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"  # killed by a signal
    THROTTLED = "THROTTLED"  # complete, but the device slowed itself down meanwhile
    SKIPPED = "SKIPPED"  # cut short, because the run that it is compared with failed


@dataclass(frozen=True)
class FileFacts:
    """Identity of a file that took part: its name, size in bytes and SHA-256 in hex."""

    name: str
    file_bytes: int
    sha256: str


@dataclass(frozen=True)
class Header:
    """What ran, on what, built how: the first line of a record.

    `model` is the .ttm file, whether it lies beside the binary or is embedded in it. `device` is
    the device's description (name, machine, kernel, cpu, governor, frequencies, temperature, ...),
    with null for what could not be found out; `is_emulated` says whether its clock means anything.
    `affinity` is the list of cores that launches are pinned to, "4-7", which each was found to run
    on; None when they were not pinned. `control`: what the device was made to do meanwhile, and
    what it could not be (`Controlled.to_json`). `protocol` holds the launches, runs, warm-up runs,
    time and threads that were asked for, and of a side of a comparison its `comparison` and `side`.
    """

    model: FileFacts
    binary: FileFacts
    is_model_embedded: bool
    profile: str
    toolchain: str
    cpu: str
    compiler: str
    flags: Sequence[str]
    device: Mapping[str, Any]
    is_emulated: bool
    protocol: Mapping[str, Any]
    affinity: str | None = None
    control: Mapping[str, Any] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))
    format: int = FORMAT

    @property
    def file_name(self) -> str:
        """Name of the run's file: sorts by time and tells a reader of the folder what it is."""
        stamp = self.time[:26].replace("-", "").replace(":", "")  # 20260131T235959.123456
        model = Path(self.model.name).stem
        return f"{stamp}-{model}-{self.profile}-{self.device['name']}-{self.run_id}{SUFFIX}"


@dataclass(frozen=True)
class Record:
    """One complete run as it stands in its file; `seconds` that it took, None where an older
    trimtab wrote it.
    """

    path: Path
    header: Header
    events: tuple[Event, ...]
    status: Status
    message: str
    seconds: float | None = None

    def of(self, kind: str) -> list[Event]:
        """All events of one kind, in order, but those of launches that do not count."""
        return [event for event in self._counted if event["event"] == kind]

    def first(self, kind: str) -> Event | None:
        """The first event of one kind."""
        return next(iter(self.of(kind)), None)

    def launches(self) -> list[list[Event]]:
        """The events of each launch that was measured and counts, in order; in front stands the
        `launch` that announces them, where the format has one.
        """
        found: list[list[Event]] = []
        for event in self._counted:
            if event["event"] == "launch":
                found.append([])
            if found:
                found[-1].append(event)
        return found or [list(self._counted)]

    @cached_property
    def _counted(self) -> Sequence[Event]:
        """All events but those of launches that were discarded when the device was lost: from the
        `launch` that announces one to the next, or to `resumed`.
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
    """Writes one record; a context manager.

    `end` completes the file under its final name. Leaving the context without it (a bug, Ctrl-C)
    leaves nothing behind.
    """

    def __init__(self, directory: Path, header: Header) -> None:
        """Open the record of a run. Raises ResultError when `directory` cannot be written."""
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
        """Append one event; raises ResultError when the disk refuses."""
        assert self._file is not None, "the record has ended"
        with self._access():
            self._file.write(json.dumps(event, separators=(",", ":"), allow_nan=False) + "\n")

    def end(self, status: Status, message: str = "") -> None:
        """Write the end marker and give the file its final name."""
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
            with suppress(OSError):  # of what is still to be written
                self._file.close()
            self._part.discard()

    def _access(self) -> AbstractContextManager[None]:
        hint = "free some space, or name another directory with --output"
        return files.access(self.path, error=ResultError, hint=hint)


def read(path: Path) -> Record:
    """Read a record.

    Raises TruncatedResultError when it has no end marker, and ResultError when it is missing,
    damaged or of another version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(
            f"the result file cannot be read: {error}",
            where=str(path),
            hint="./inv report lists the runs that there are",
        ) from error
    whole_lines = text.split("\n")[:-1]  # what follows the last newline was cut off
    events = [_parse(path, number, line) for number, line in enumerate(whole_lines, 1)]
    if not events or events[0]["event"] != "header":
        raise _not_a_record(path, "it does not begin with a header")
    if (found := events[0].get("format")) not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise _not_a_record(path, f"it has format {found}, this trimtab reads {known}")
    if events[-1]["event"] != "end":
        raise TruncatedResultError(
            "the result file is truncated: it has no end marker",
            where=str(path),
            hint="measure again; this file cannot be used",
        )
    try:
        status = Status(events[-1]["status"])
        end = events[-1]
        took = (str(end["message"]), end.get("seconds"))
        return Record(path, _header(events[0]), tuple(events[1:-1]), status, *took)
    except (KeyError, TypeError, ValueError) as error:
        raise _not_a_record(path, f"a field is missing or wrong: {error}") from error


def _parse(path: Path, number: int, line: str) -> Event:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise _not_a_record(path, f"line {number} is not JSON") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise _not_a_record(path, f"line {number} is not an event")
    return event


def _header(event: Event) -> Header:
    known = {f.name for f in fields(Header)}
    values = {key: value for key, value in event.items() if key in known}
    for key in ("model", "binary"):
        values[key] = FileFacts(**values[key])
    return Header(**values)


def _not_a_record(path: Path, why: str) -> ResultError:
    return ResultError(
        f"not a result file: {why}", where=str(path), hint="measure again: ./inv bench"
    )
