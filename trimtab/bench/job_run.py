"""Runs one job on its device: pushes files, checks the output, launches, and writes the record."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from trimtab.bench import counters, emulator_counts, energy, golden, pace, runner
from trimtab.bench.device_session import DeviceSession
from trimtab.bench.jobs import Job, ScheduledLaunch
from trimtab.devices.control import energy as control_energy
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
    RunnerCrashedError,
    RunnerError,
    TrimtabError,
    WrongOutputError,
)
from trimtab.progress import Progress
from trimtab.results.records import Event, Status, Writer

_OUTPUT_SLACK_BYTES = 1 << 20  # within which the comparison names the wrong size


class JobRun:
    """One job during a measurement: the state that its steps share. `path`: that of the record;
    `wrong`: why the outputs are not right, "" if they are.
    """

    def __init__(
        self, session: DeviceSession, info: DeviceInfo, job: Job, writer: Writer, progress: Progress
    ) -> None:
        """`info` is the device's description; the settings of `job` are resolved."""
        self._session, self._device = session, session.device
        self._subject, self._expected = job.subject, job.expected
        self._is_emulated = info.is_emulated
        self._counters = counters.request(info, job.settings.threads)
        self._settings, self._writer, self._progress = job.settings, writer, progress
        self._base: runner.Command | None = None
        self.wrong = ""
        self._launches = 0
        self._unfinished: list[int] = []  # launches of the current block
        self._events: list[Sequence[Event]] = []  # theirs
        self.path = writer.path

    def describe(self) -> None:
        """Writes the events that describe the job itself."""
        subject = self._subject
        if subject.accuracy:
            self.note({"event": "accuracy", **asdict(subject.accuracy)})
        if subject.search:
            self.note({"event": "precision", **asdict(subject.search)})
        if subject.size:
            self.note({"event": "size", **subject.size})
        if subject.shipped:
            footprints = [asdict(footprint) for footprint in subject.shipped]
            self.note({"event": "shipped", "ways": footprints})
        self.note({"event": "operators", "labels": list(subject.operators)})
        if subject.network:
            memory_speed = {"gb_per_s": self._counters.gb_per_s}
            self.note({"event": "network", **subject.network, **memory_speed})
        if self._settings.counters:
            self.note(self._counters.event())

    def prepare(self) -> None:
        """Pushes missing files and checks the output, unless that is done. Raises TrimtabError."""
        if self._base is not None:
            return
        subject = self._subject
        with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
            local = Path(name)
            base = runner.Command(
                runner=self._push(subject.binary),
                model=None if subject.is_model_embedded else self._push(subject.model),
                inputs=[self._push(path) for path in self._expected.write_inputs(local)],
                threads=self._settings.threads,
                cores=self._session.control.cores,
            )
            with self._progress.step(f"check the output on {self._device.name}"):
                self._check_output(base, local)
        self._base = base

    def launch(self, scheduled: ScheduledLaunch, at_s: float, device: Device) -> None:
        """Launches over this connection, `at_s` seconds after the first. Raises TrimtabError."""
        event = {"event": "launch", "index": self._launches, "at_s": at_s, **scheduled.tags}
        self.note(event)
        self._unfinished.append(self._launches)
        self._launches += 1
        command = self._settings.steady(self._prepared)
        command = dataclasses.replace(command, cores=scheduled.cpus or command.cores)
        if self._settings.counters:
            command = dataclasses.replace(command, counters=self._counters.argument)
        events = self._launch(device, command, Transcript(), counted=True)
        self._record(events)
        self._events.append(events)

    def finish_block(self) -> list[Sequence[Event]]:
        """Counts the launches since the last block as finished, and returns their events."""
        events, self._events = self._events, []
        self._unfinished.clear()
        return events

    def resume(self, cause: str) -> None:
        """Restarts after the device came back from a disconnect with this cause.

        Discards the launches of the unfinished block; `prepare` starts again.
        """
        self.note({"event": "resumed", "why": cause, "discarded": [*self._unfinished]})
        self._unfinished.clear()
        self._events.clear()
        self._base = None

    def note(self, event: Event) -> None:
        """Writes an event into the record."""
        self._writer.event(event)

    def measure_energy(self) -> None:
        """Measures energy in a separate launch, if requested. Raises TrimtabError.

        A paced launch is sampled itself.
        """
        if not self._settings.energy or self._settings.pace:
            return
        with self._progress.step(f"measure energy on {self._device.name}"):
            self.note(energy.measure(self._device, self._prepared, self._settings.timeout_s))

    def describe_after(self) -> None:
        """Records the device's description after the last launch."""
        self.note({"event": "device_after", **asdict(self._device.describe())})

    def end(self, error: TrimtabError | None, *, is_cut_short: bool) -> TrimtabError | None:
        """Completes the record; returns `error`."""
        if error is None and is_cut_short:
            self._writer.end(Status.SKIPPED, "the other run of the comparison failed")
        elif error is None and (self.wrong or self._session.throttled):
            reasons = [f"the device throttled: {'; '.join(self._session.throttled)}"]
            reasons = [self.wrong] * bool(self.wrong) + reasons * bool(self._session.throttled)
            status = Status.INACCURATE if self.wrong else Status.THROTTLED
            self._writer.end(status, "; ".join(reasons))
        else:
            self._writer.end(_status(error), str(error or ""))
        return error

    @property
    def _prepared(self) -> runner.Command:
        assert self._base is not None, "call `prepare` first"
        return self._base

    def _push(self, path: Path) -> str:
        pushed = self._device.push(path, self._progress)
        sent = {"sent_bytes": pushed.sent_bytes, "packing": pushed.packing}
        file_bytes = path.stat().st_size
        self.note({"event": "push", "name": path.name, "file_bytes": file_bytes, **sent})
        return pushed.path

    def _check_output(self, base: runner.Command, local: Path) -> None:
        with self._device.scratch() as scratch:
            command = dataclasses.replace(base, output_dir=scratch)
            self._launch(self._device, command, Transcript())
            agreements = []
            for index in range(len(self._expected.outputs)):
                path = local / f"out{index}.bin"
                most = self._expected.outputs[index].nbytes + _OUTPUT_SLACK_BYTES
                self._device.pull(f"{scratch}/{path.name}", path, limit_bytes=most)
                agreements.append(golden.compare(self._expected, index, path.read_bytes()))
        self.note(
            {
                "event": "golden",
                "oracle": self._expected.oracle,
                "precision": self._expected.precision,
                "tolerance": self._expected.tolerance,
                "outputs": [asdict(agreement) for agreement in agreements],
            }
        )
        worst = next((agreement for agreement in agreements if agreement.wrong), None)
        if worst and self._expected.is_exact and not self._settings.accept_wrong:
            raise golden.wrong_output(worst)
        self.wrong = f"output {worst.name}: {worst.wrong}" if worst else ""
        if worst:
            self._progress.note(f"measured all the same, and marked: {self.wrong}")

    def _launch(
        self,
        device: Device,
        command: runner.Command,
        printed: Transcript,
        *,
        counted: bool = False,
    ) -> Sequence[Event]:
        """The events of a successful launch.

        Those of a failed launch go into the record, and its error is raised.
        """
        try:
            launch = runner.interpret(self._run(device, command, printed, counted))
        except DeviceError as error:  # a timeout or a broken link: there is no result
            launch = runner.cut_off(bytes(printed.stdout), error)
        if launch.error is None:
            self._session.control.check_affinity(command.cores, launch.events[0].get("affinity"))
            return emulator_counts.merge(launch.events, printed.marks)
        # The launch that checks the output is not timed; its events explain its own failures.
        if counted or isinstance(launch.error, RunnerError):
            try:
                self._record(emulator_counts.merge(launch.events, printed.marks))
            except RunnerError:  # an incomplete launch may lack marks
                self._record(launch.events)
        if isinstance(launch.error, RunnerError):  # perhaps another lease holder killed it
            self._session.control.confirm()
        raise launch.error

    def _run(
        self, device: Device, command: runner.Command, printed: Transcript, counted: bool
    ) -> CommandResult:
        """Runs the command; `counted` uses the device's instruction counter for a single thread."""
        timeout_s = self._settings.timeout_s
        if counted and self._settings.pace:
            timeout_s += self._settings.pace.seconds
            if not self._is_emulated:
                return self._run_watched(device, command, self._settings.pace, printed, timeout_s)
            self.note(pace.Watch(device, (), self._settings.pace).event())
        if (
            counted
            and isinstance(device, InstructionCounter)
            and command.threads == 1
            and device.can_count_instructions()
        ):
            argv = dataclasses.replace(command, markers=True).argv()
            return device.count_instructions(argv, timeout_s=timeout_s, transcript=printed)[0]
        return device.run(command.argv(), timeout_s=timeout_s, transcript=printed)

    def _run_watched(
        self,
        device: Device,
        command: runner.Command,
        paced: pace.Pace,
        printed: Transcript,
        timeout_s: float,
    ) -> CommandResult:
        """Runs a paced launch, and records clock, temperature and energy meanwhile."""
        idle = energy.sample_idle(device, timeout_s)
        argv, pause_s = command.argv(), pace.ENERGY_PAUSE_S
        if idle:
            argv = control_energy.sampling(argv, sysfs=device.sysfs, pause_s=pause_s)
        with pace.Watch(device, self._session.control.measured_cores, paced) as watch:
            result = device.run(argv, timeout_s=timeout_s, transcript=printed)
        self.note(watch.event())
        busy, stderr = control_energy.parse(result.stderr)
        result = dataclasses.replace(result, stderr=stderr)
        events = runner.interpret(result).events
        self.note(energy.event(sum(event["event"] == "run" for event in events), idle, busy))
        return result

    def _record(self, events: Sequence[Event]) -> None:
        for event in events:
            if event["event"] != "end":
                self.note(event)


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
