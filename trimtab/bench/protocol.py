"""The measuring protocol: what is done on a device, in which order.

Push; check the golden output, before anything is timed; then one launch that loads, runs for the
first time, warms up and runs in a steady state, and then, if asked, as many times with a clock
around every operator, apart because those clocks cost time themselves. Everything the runner prints
goes into the record as it is, also what it printed before it ran out of time or the link broke.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trimtab.bench import golden, marks, runner
from trimtab.bench.golden import Golden
from trimtab.bench.results import Event, FileFacts, Header, Status, Writer
from trimtab.bench.shipped import Shipped
from trimtab.devices import facts
from trimtab.devices.protocol import (
    CommandResult,
    Device,
    DeviceInfo,
    InstructionCounter,
    Transcript,
)
from trimtab.errors import (
    DeviceError,
    DeviceTimeoutError,
    ResultError,
    RunnerCrashedError,
    RunnerError,
    TrimtabError,
    UsageError,
    WrongOutputError,
)
from trimtab.progress import SILENT, Progress, Step

MAX_THREADS = 64  # of the runner


@dataclass(frozen=True)
class Subject:
    """What is measured: a runner and its model, and how they were made.

    `operators`: a label for each operator of the program, in order, as the binary itself may hold
    no names. `size`: {"file_bytes", "sections": {name: bytes}, "groups": {name: bytes}}, empty when
    it is not known. `shipped`: this one, and others to set beside it.
    """

    binary: Path
    model: Path
    is_model_embedded: bool
    profile: str
    toolchain: str
    cpu: str
    compiler: str
    flags: Sequence[str]
    operators: Sequence[str]
    size: dict[str, Any]
    shipped: Sequence[Shipped] = ()


@dataclass(frozen=True)
class Settings:
    """How long to measure; None takes what suits the device (see `resolved`)."""

    threads: int = 1
    warmup: int | None = None
    runs: int | None = None
    min_time_ms: int | None = None
    timeout_s: float = 600.0
    per_op: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for what the runner would refuse."""
        for name, value, least in (
            ("threads", self.threads, 1),
            ("warmup", self.warmup, 0),
            ("runs", self.runs, 1),
            ("min-time-ms", self.min_time_ms, 0),
            ("timeout", self.timeout_s, 1),
        ):
            if value is not None and not least <= value < math.inf:
                raise UsageError(f"{name} is {value}, it must be at least {least}, and finite")
        if self.threads > MAX_THREADS:
            raise UsageError(f"threads is {self.threads}, the most is {MAX_THREADS}")

    def resolved(self, *, is_emulated: bool) -> Settings:
        """These settings with the defaults filled in.

        On hardware at least 30 runs and 2 s, after 5 to warm up. Under an emulator time means
        nothing and two equal counts of instructions say that they are exact.
        """
        warmup, runs, min_time_ms = (0, 2, 0) if is_emulated else (5, 30, 2000)
        return dataclasses.replace(
            self,
            warmup=warmup if self.warmup is None else self.warmup,
            runs=runs if self.runs is None else self.runs,
            min_time_ms=min_time_ms if self.min_time_ms is None else self.min_time_ms,
        )


@dataclass(frozen=True)
class Outcome:
    """Where the record is, and the error that ended the run, if one did (the record has it too)."""

    path: Path
    error: TrimtabError | None


def measure(
    device: Device,
    subject: Subject,
    expected: Golden,
    settings: Settings,
    directory: Path,
    progress: Progress = SILENT,
) -> Outcome:
    """Measure `subject` on a connected device and write the record into `directory`.

    A failure on the device ends the run and becomes the record's status. Raised are only errors
    without a record: the device cannot be described (DeviceError), or the record cannot be written
    (ResultError).
    """
    info = device.describe()
    settings = settings.resolved(is_emulated=info.is_emulated)
    with Writer(directory, _header(device, info, subject, settings)) as writer:
        if subject.size:
            writer.event({"event": "size", **subject.size})
        if subject.shipped:
            writer.event({"event": "shipped", "ways": [asdict(way) for way in subject.shipped]})
        writer.event({"event": "operators", "labels": list(subject.operators)})
        error: TrimtabError | None = None
        try:
            _Measurement(device, info, subject, expected, settings, writer, progress).run()
        except ResultError:
            raise
        except TrimtabError as failure:
            error = failure
        writer.end(_status(error), str(error or ""))
    return Outcome(writer.path, error)


def _status(error: TrimtabError | None) -> Status:
    if error is None:
        return Status.OK
    for kind, status in (
        (RunnerCrashedError, Status.CRASHED),
        (RunnerError, Status.FAILED),
        (WrongOutputError, Status.FAILED),
        (DeviceTimeoutError, Status.TIMEOUT),
    ):
        if isinstance(error, kind):
            return status
    return Status.INFRA


class _Measurement:
    """One run of the protocol; holds what its steps share."""

    def __init__(
        self,
        device: Device,
        info: DeviceInfo,
        subject: Subject,
        expected: Golden,
        settings: Settings,
        writer: Writer,
        progress: Progress,
    ) -> None:
        self._device, self._subject, self._expected = device, subject, expected
        # Where this Python takes part in what is timed, it does nothing else meanwhile.
        self._still = not info.is_emulated and facts.is_this_machine(info)
        self._settings, self._writer, self._progress = settings, writer, progress

    def run(self) -> None:
        """All steps in order; raises the first TrimtabError."""
        device, subject, settings = self._device, self._subject, self._settings
        with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
            local = Path(name)
            base = runner.Command(
                runner=self._push(subject.binary),
                model=None if subject.is_model_embedded else self._push(subject.model),
                inputs=[self._push(path) for path in self._expected.write_inputs(local)],
                threads=settings.threads,
            )
            with self._progress.step(f"check the output on {device.name}"):
                self._check_output(base, local)
        steady = dataclasses.replace(
            base,
            warmup=settings.warmup or 0,
            runs=settings.runs or 1,
            min_time_ms=settings.min_time_ms or 0,
            per_op=settings.per_op,
        )
        with self._progress.step(f"measure on {device.name}", "events", still=self._still) as step:
            events = self._launch(steady, _Events(step, moves=not self._still), counted=True)
            step.update(len(events))
        self._record(events)
        self._writer.event({"event": "device_after", **asdict(device.describe())})

    def _push(self, path: Path) -> str:
        pushed = self._device.push(path, self._progress)
        sent = {"sent_bytes": pushed.sent_bytes, "packing": pushed.packing}
        file_bytes = path.stat().st_size
        self._writer.event({"event": "push", "name": path.name, "file_bytes": file_bytes, **sent})
        return pushed.path

    def _check_output(self, base: runner.Command, local: Path) -> None:
        with self._device.scratch() as scratch:
            command = dataclasses.replace(base, output_dir=scratch, verify=True)
            self._launch(command, Transcript())
            agreements = []
            for index in range(len(self._expected.outputs)):
                path = local / f"out{index}.bin"
                self._device.pull(f"{scratch}/{path.name}", path)
                agreements.append(golden.check(self._expected, index, path.read_bytes()))
        self._writer.event(
            {
                "event": "golden",
                "oracle": self._expected.oracle,
                "tolerance": self._expected.tolerance,
                "outputs": [asdict(agreement) for agreement in agreements],
            }
        )

    def _launch(
        self, command: runner.Command, printed: Transcript, *, counted: bool = False
    ) -> Sequence[Event]:
        """The events of a launch that went well; those of one that did not go into the record,
        however it ended, and its error is raised.
        """
        try:
            launch = runner.interpret(self._run(command, printed, counted))
        except DeviceError as error:  # it ran out of time, or the link broke: there is no result
            launch = runner.cut_off(bytes(printed.stdout), error)
        if launch.error is None:
            return marks.merge(launch.events, printed.marks)
        try:
            self._record(marks.merge(launch.events, printed.marks))
        except RunnerError:  # what was cut off may lack marks
            self._record(launch.events)
        raise launch.error

    def _run(self, command: runner.Command, printed: Transcript, counted: bool) -> CommandResult:
        """Run, `counted` under the device's own counter where it has one: it counts one thread."""
        device, timeout_s = self._device, self._settings.timeout_s
        if (
            counted
            and isinstance(device, InstructionCounter)
            and command.threads == 1
            and device.can_count_instructions()
        ):
            argv = dataclasses.replace(command, markers=True).argv()
            return device.count_instructions(argv, timeout_s=timeout_s, transcript=printed)[0]
        return device.run(command.argv(), timeout_s=timeout_s, transcript=printed)

    def _record(self, events: Sequence[Event]) -> None:
        for event in events:
            if event["event"] != "end":
                self._writer.event(event)


class _Events(Transcript):
    """Tells how many events the runner has printed."""

    def __init__(self, step: Step, *, moves: bool) -> None:
        super().__init__()
        self._step, self._moves, self._done = step, moves, 0

    def wrote(self, data: bytes) -> None:
        super().wrote(data)
        if self._moves:
            self._done += data.count(b"\n")
            self._step.update(self._done)


def _header(device: Device, info: DeviceInfo, subject: Subject, settings: Settings) -> Header:
    # Under user-mode emulation the process that has a peak memory is the emulator's.
    peak_of = "emulator" if isinstance(device, InstructionCounter) else "runner"
    return Header(
        model=_facts(subject.model),
        binary=_facts(subject.binary),
        is_model_embedded=subject.is_model_embedded,
        profile=subject.profile,
        toolchain=subject.toolchain,
        cpu=subject.cpu,
        compiler=subject.compiler,
        flags=list(subject.flags),
        device={"name": device.name, "peak_of": peak_of, **asdict(info)},
        is_emulated=info.is_emulated,
        protocol=asdict(settings),
    )


def _facts(path: Path) -> FileFacts:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultError(
            f"cannot be read: {error.strerror}", where=str(path), hint="build it: ./inv build"
        ) from error
    return FileFacts(path.name, len(data), hashlib.sha256(data).hexdigest())
