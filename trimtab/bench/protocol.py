"""The measuring protocol: what is done on a device, in which order.

Push; check the golden output, before anything is timed; then several launches, each of which loads,
runs for the first time, warms up and runs in a steady state, and then, if asked, as many times with
a clock around every operator, apart because those clocks cost time themselves. Several subjects are
measured in turns, as a schedule says. Everything the runner prints goes into the record as it is,
also what it printed before it ran out of time or the link broke.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab.bench import counters, energy, golden, marks, runner
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Job, Schedule, Settings, Subject, Turn
from trimtab.bench.results import Event, FileFacts, Header, Status, Writer
from trimtab.devices import facts
from trimtab.devices.control import Controlled, controlled
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
    WrongOutputError,
)
from trimtab.progress import SILENT, Progress


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
    without a record: the device is another's (DeviceBusyError) or cannot be described
    (DeviceError), there are no such cores (UsageError), or the record cannot be written
    (ResultError).
    """
    info = device.describe()
    launches = settings.resolved(is_emulated=info.is_emulated).launches or 1
    job, schedule = Job(subject, expected, settings), [[Turn(0)]] * launches
    return measure_all(device, info, [job], schedule, directory, progress)[0]


def measure_all(
    device: Device,
    info: DeviceInfo,
    jobs: Sequence[Job],
    schedule: Schedule,
    directory: Path,
    progress: Progress = SILENT,
) -> list[Outcome]:
    """Measure several jobs in the turns of `schedule`, one record for each; errors as `measure`.
    `info`: what the device tells of itself now.

    All of them are checked before the first is timed. A failure ends all: it is the status of the
    job that failed, and the others, whose launches are not all there, end as SKIPPED.
    """
    first = jobs[0].settings
    with ExitStack() as stack:
        threads = max(job.settings.threads for job in jobs)
        held = stack.enter_context(
            controlled(device, first.control, threads=threads, note=progress.note)
        )
        sides = []
        for job in jobs:
            settings = job.settings.resolved(is_emulated=info.is_emulated)
            whole = dataclasses.replace(job, settings=settings)
            writer = stack.enter_context(Writer(directory, _header(device, info, whole, held)))
            sides.append(_Side(device, info, whole, writer, progress, held))
        errors: dict[int, TrimtabError] = {}
        turn = Turn(0)
        try:
            for index, side in enumerate(sides):
                turn = Turn(index)
                side.prepare()
            _take_turns(device, info, sides, schedule, progress, held)
            for index, side in enumerate(sides):
                turn = Turn(index)
                side.measure_energy()
                side.describe_after()
        except ResultError:
            raise
        except _LaunchError as failure:
            errors[failure.job] = failure.error
        except TrimtabError as error:
            errors[turn.job] = error
        return [
            Outcome(side.path, side.end(errors.get(index), is_cut_short=bool(errors)))
            for index, side in enumerate(sides)
        ]


class _LaunchError(Exception):
    """A launch of a job failed."""

    def __init__(self, job: int, error: TrimtabError) -> None:
        super().__init__(str(error))
        self.job, self.error = job, error


def _take_turns(
    device: Device,
    info: DeviceInfo,
    sides: Sequence[_Side],
    schedule: Schedule,
    progress: Progress,
    held: Controlled,
) -> None:
    """All launches in order; raises _LaunchError for the first that fails."""
    # Where this Python takes part in what is timed, it does nothing else meanwhile.
    still = not info.is_emulated and facts.is_this_machine(info)
    begin_s = time.monotonic()
    title = f"measure on {device.name}"
    with (
        progress.step(title, "launches", still=still) as step,
        ThreadPoolExecutor(max(map(len, schedule))) as pool,
    ):
        for done, turns in enumerate(schedule):
            step.update(done, len(schedule))
            at_s = round(time.monotonic() - begin_s, 3)
            with held.launch() as conditions:
                if len(turns) == 1:
                    sides[turns[0].job].launch(turns[0], at_s)
                else:
                    launches = [pool.submit(sides[turn.job].launch, turn, at_s) for turn in turns]
                    for launch in launches:
                        launch.result()
            for turn in turns:
                sides[turn.job].note({"event": "conditions", **conditions.to_json()})
        step.update(len(schedule), len(schedule))


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


class _Side:
    """One job on the device; holds what its steps share."""

    def __init__(
        self,
        device: Device,
        info: DeviceInfo,
        job: Job,
        writer: Writer,
        progress: Progress,
        held: Controlled,
    ) -> None:
        self._held = held
        self._device, self._subject, self._expected = device, job.subject, job.expected
        self._counted = counters.wanted(info, job.settings.threads)
        self._settings, self._writer, self._progress = job.settings, writer, progress
        self._base: runner.Command | None = None
        self._launches = 0
        self.path = writer.path

    def prepare(self) -> None:
        """All steps before the first launch that is timed; raises TrimtabError."""
        device, subject = self._device, self._subject
        if subject.accuracy:
            self._writer.event({"event": "accuracy", **asdict(subject.accuracy)})
        if subject.search:
            self._writer.event({"event": "precision", **asdict(subject.search)})
        if subject.size:
            self._writer.event({"event": "size", **subject.size})
        if subject.shipped:
            ways = [asdict(way) for way in subject.shipped]
            self._writer.event({"event": "shipped", "ways": ways})
        self._writer.event({"event": "operators", "labels": list(subject.operators)})
        with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
            local = Path(name)
            self._base = runner.Command(
                runner=self._push(subject.binary),
                model=None if subject.is_model_embedded else self._push(subject.model),
                inputs=[self._push(path) for path in self._expected.write_inputs(local)],
                threads=self._settings.threads,
                cores=self._held.cores,
            )
            with self._progress.step(f"check the output on {device.name}"):
                self._check_output(self._base, local)
        if self._settings.counters:
            self._writer.event(self._counted.event())

    def launch(self, turn: Turn, at_s: float) -> None:
        """One launch, `at_s` seconds after the first; raises _LaunchError."""
        assert self._base is not None, "prepare comes first"
        event = {"event": "launch", "index": self._launches, "at_s": at_s, **turn.place}
        self._writer.event(event)
        self._launches += 1
        try:
            command = self._settings.steady(self._base)
            command = dataclasses.replace(command, cores=turn.cpus or command.cores)
            if self._settings.counters:
                command = dataclasses.replace(command, counters=self._counted.argument)
            self._record(self._launch(command, Transcript(), counted=True))
        except ResultError:
            raise
        except TrimtabError as error:
            raise _LaunchError(turn.job, error) from error

    def note(self, event: Event) -> None:
        """Puts an event into the record."""
        self._writer.event(event)

    def measure_energy(self) -> None:
        """A launch of its own, if it is asked for; raises TrimtabError."""
        if not self._settings.energy:
            return
        assert self._base is not None, "prepare comes first"
        with self._progress.step(f"measure energy on {self._device.name}"):
            found = energy.measure(self._device, self._base, self._settings.timeout_s)
        self._writer.event(found)

    def describe_after(self) -> None:
        """The device once more, after the last launch."""
        self._writer.event({"event": "device_after", **asdict(self._device.describe())})

    def end(self, error: TrimtabError | None, *, is_cut_short: bool) -> TrimtabError | None:
        """Completes the record; returns `error`."""
        if error is None and is_cut_short:
            self._writer.end(Status.SKIPPED, "the run beside it failed")
        elif error is None and (slow := self._held.throttled):
            self._writer.end(Status.THROTTLED, f"the device slowed itself down: {'; '.join(slow)}")
        else:
            self._writer.end(_status(error), str(error or ""))
        return error

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
        self,
        command: runner.Command,
        printed: Transcript,
        *,
        counted: bool = False,
    ) -> Sequence[Event]:
        """The events of a launch that went well; those of one that did not go into the record,
        however it ended, and its error is raised.
        """
        try:
            launch = runner.interpret(self._run(command, printed, counted))
        except DeviceError as error:  # it ran out of time, or the link broke: there is no result
            launch = runner.cut_off(bytes(printed.stdout), error)
        if launch.error is None:
            self._held.check_affinity(command.cores, launch.events[0].get("affinity"))
            return marks.merge(launch.events, printed.marks)
        try:
            self._record(marks.merge(launch.events, printed.marks))
        except RunnerError:  # what was cut off may lack marks
            self._record(launch.events)
        if isinstance(launch.error, RunnerError):  # perhaps it was ended by who took the device
            self._held.confirm()
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


def _header(device: Device, info: DeviceInfo, job: Job, held: Controlled) -> Header:
    subject = job.subject
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
        protocol={**asdict(job.settings), **job.role},
        affinity=held.cores,
        control=held.to_json(),
    )


def _facts(path: Path) -> FileFacts:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultError(
            f"cannot be read: {error.strerror}", where=str(path), hint="build it: ./inv build"
        ) from error
    return FileFacts(path.name, len(data), hashlib.sha256(data).hexdigest())
