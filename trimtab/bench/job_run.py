"""One job of a measurement on its device: what is pushed, checked, launched, and written of it."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from trimtab.bench import counters, emulator_counts, energy, golden, runner
from trimtab.bench.jobs import Job, Turn
from trimtab.bench.session import Session
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


class JobRun:
    """One job on the device; holds what its steps share."""

    def __init__(
        self, session: Session, info: DeviceInfo, job: Job, writer: Writer, progress: Progress
    ) -> None:
        """`info`: what the device tells of itself; the settings of `job` are resolved."""
        self._session, self._device = session, session.device
        self._subject, self._expected = job.subject, job.expected
        self._counted = counters.wanted(info, job.settings.threads)
        self._settings, self._writer, self._progress = job.settings, writer, progress
        self._base: runner.Command | None = None
        self._launches = 0
        self._unfinished: list[int] = []  # launches of the block that is going on
        self.path = writer.path

    def describe(self) -> None:
        """What is known of the job itself, into the record."""
        subject = self._subject
        if subject.accuracy:
            self.note({"event": "accuracy", **asdict(subject.accuracy)})
        if subject.search:
            self.note({"event": "precision", **asdict(subject.search)})
        if subject.size:
            self.note({"event": "size", **subject.size})
        if subject.shipped:
            ways = [asdict(way) for way in subject.shipped]
            self.note({"event": "shipped", "ways": ways})
        self.note({"event": "operators", "labels": list(subject.operators)})
        if subject.network:
            memory_speed = {"gb_per_s": self._counted.gb_per_s}
            self.note({"event": "network", **subject.network, **memory_speed})
        if self._settings.counters:
            self.note(self._counted.event())

    def prepare(self) -> None:
        """Pushes what is not there, and checks the output, if that is not done already; raises
        TrimtabError.
        """
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
                cores=self._session.held.cores,
            )
            with self._progress.step(f"check the output on {self._device.name}"):
                self._check_output(base, local)
        self._base = base

    def launch(self, turn: Turn, at_s: float, device: Device) -> None:
        """One launch over this connection, `at_s` seconds after the first; raises TrimtabError."""
        event = {"event": "launch", "index": self._launches, "at_s": at_s, **turn.place}
        self.note(event)
        self._unfinished.append(self._launches)
        self._launches += 1
        command = self._settings.steady(self._prepared)
        command = dataclasses.replace(command, cores=turn.cpus or command.cores)
        if self._settings.counters:
            command = dataclasses.replace(command, counters=self._counted.argument)
        self._record(self._launch(device, command, Transcript(), counted=True))

    def finish_block(self) -> None:
        """The launches since the last block count from now on."""
        self._unfinished.clear()

    def resume(self, why: str) -> None:
        """The device is back: launches of the unfinished block do not count, and all that was there
        has to be prepared again.
        """
        self.note({"event": "resumed", "why": why, "discarded": [*self._unfinished]})
        self._unfinished.clear()
        self._base = None

    def note(self, event: Event) -> None:
        """Puts an event into the record."""
        self._writer.event(event)

    def measure_energy(self) -> None:
        """A launch of its own, if it is asked for; raises TrimtabError."""
        if not self._settings.energy:
            return
        with self._progress.step(f"measure energy on {self._device.name}"):
            self.note(energy.measure(self._device, self._prepared, self._settings.timeout_s))

    def describe_after(self) -> None:
        """The device once more, after the last launch."""
        self.note({"event": "device_after", **asdict(self._device.describe())})

    def end(self, error: TrimtabError | None, *, is_cut_short: bool) -> TrimtabError | None:
        """Completes the record; returns `error`."""
        if error is None and is_cut_short:
            self._writer.end(Status.SKIPPED, "the run beside it failed")
        elif error is None and (slow := self._session.throttled):
            self._writer.end(Status.THROTTLED, f"the device slowed itself down: {'; '.join(slow)}")
        else:
            self._writer.end(_status(error), str(error or ""))
        return error

    @property
    def _prepared(self) -> runner.Command:
        assert self._base is not None, "prepare comes first"
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
                self._device.pull(f"{scratch}/{path.name}", path)
                agreements.append(golden.check(self._expected, index, path.read_bytes()))
        self.note(
            {
                "event": "golden",
                "oracle": self._expected.oracle,
                "tolerance": self._expected.tolerance,
                "outputs": [asdict(agreement) for agreement in agreements],
            }
        )

    def _launch(
        self,
        device: Device,
        command: runner.Command,
        printed: Transcript,
        *,
        counted: bool = False,
    ) -> Sequence[Event]:
        """The events of a launch that went well; those of one that did not go into the record,
        however it ended, and its error is raised.
        """
        try:
            launch = runner.interpret(self._run(device, command, printed, counted))
        except DeviceError as error:  # it ran out of time, or the link broke: there is no result
            launch = runner.cut_off(bytes(printed.stdout), error)
        if launch.error is None:
            self._session.held.check_affinity(command.cores, launch.events[0].get("affinity"))
            return emulator_counts.merge(launch.events, printed.marks)
        # The launch that checks the output is not timed; what it printed explains its own failures.
        if counted or isinstance(launch.error, RunnerError):
            try:
                self._record(emulator_counts.merge(launch.events, printed.marks))
            except RunnerError:  # what was cut off may lack marks
                self._record(launch.events)
        if isinstance(launch.error, RunnerError):  # perhaps it was ended by who took the device
            self._session.held.confirm()
        raise launch.error

    def _run(
        self, device: Device, command: runner.Command, printed: Transcript, counted: bool
    ) -> CommandResult:
        """Run, `counted` under the device's own counter where it has one: it counts one thread."""
        timeout_s = self._settings.timeout_s
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
