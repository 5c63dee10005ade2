"""The measurement protocol: the steps of a measurement on a device.

1. Push the binary, the model and the inputs.
2. Check the golden output, before any timing.
3. Launch several times. Each launch loads the model, runs a first inference, warms up, and runs in
   a steady state; if requested, it then runs as often with a clock around every operator, since
   those clocks cost time themselves. A schedule interleaves the launches of several subjects.

Everything that the runner prints goes into the record unchanged, including the output before a
timeout or a broken link.

After a disconnect the protocol waits for the device, acquires it again, and repeats the interrupted
step. For launches that is their whole block, since launches before and after a disconnect are not
comparable.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from trimtab.bench.device_session import DeviceSession
from trimtab.bench.golden import Golden
from trimtab.bench.job_run import JobRun
from trimtab.bench.jobs import Job, Schedule, ScheduledLaunch, Settings, Subject
from trimtab.devices import facts
from trimtab.devices.control import Controlled
from trimtab.devices.protocol import Device, DeviceInfo, InstructionCounter
from trimtab.errors import DeviceUnreachableError, ResultError, TrimtabError
from trimtab.paths import PROGRAM
from trimtab.progress import SILENT, Progress
from trimtab.results.records import Event, FileFacts, Header, RecordedDevice, Writer

MAX_DISCONNECTS = 3  # in one step: the step itself may bring the device down

BlockObserver = Callable[[Sequence[Sequence[Sequence[Event]]], bool], None]
"""Receives the events of each launch of each job in a complete block, and whether the device
throttled meanwhile.
"""


@dataclass(frozen=True)
class RunOutcome:
    """The path of a run's record, and the error that ended the run, if any (also in the record).
    `wrong`: why outputs of a complete run are beyond their bounds, "" if they are not.
    """

    path: Path
    error: TrimtabError | None
    wrong: str = ""


def measure(
    device: Device,
    subject: Subject,
    expected: Golden,
    settings: Settings,
    directory: Path,
    progress: Progress = SILENT,
) -> RunOutcome:
    """Measures `subject` on a connected device, and writes the record into `directory`.

    A failure on the device ends the run and becomes the record's status. Raises only errors without
    a record: another process holds the device (DeviceBusyError), it cannot be described
    (DeviceError), it has no such cores (UsageError), or the record cannot be written (ResultError).
    """
    info = device.describe()
    launches = settings.resolved(is_emulated=info.is_emulated).launches or 1
    job, schedule = Job(subject, expected, settings), [[ScheduledLaunch(0)]] * launches
    return measure_all(device, info, [job], schedule, directory, progress)[0]


def measure_all(
    device: Device,
    info: DeviceInfo,
    jobs: Sequence[Job],
    schedule: Schedule,
    directory: Path,
    progress: Progress = SILENT,
    finished: BlockObserver | None = None,
) -> list[RunOutcome]:
    """Measures several jobs by `schedule`, with one record each; errors as in `measure`.

    `info` is the device's present description. `finished` observes each complete block. All outputs
    are checked before the first timing. A failure ends all jobs: it becomes the status of its own
    job, and the others end as SKIPPED, since launches of theirs are missing.
    """
    control, lanes = jobs[0].settings.control, max(map(len, schedule))
    threads = lanes * max(job.settings.threads for job in jobs)
    with (
        DeviceSession(device, control, threads=threads, lanes=lanes, note=progress.note) as session,
        ExitStack() as stack,
    ):
        runs = []
        for job in jobs:
            settings = job.settings.resolved(is_emulated=info.is_emulated)
            whole = dataclasses.replace(job, settings=settings)
            header = _header(device, info, whole, session.control)
            writer = stack.enter_context(Writer(directory, header))
            runs.append(JobRun(session, info, whole, writer, progress))
        steps = _Steps(session, runs, progress, finished)
        errors: dict[int, TrimtabError] = {}
        try:
            # Progress is not drawn while this machine measures itself.
            steps.carry_out(schedule, still=not info.is_emulated and facts.is_this_machine(info))
        except ResultError:
            raise
        except TrimtabError as error:
            errors[steps.job] = error
        return [
            RunOutcome(run.path, run.end(errors.get(index), is_cut_short=bool(errors)), run.wrong)
            for index, run in enumerate(runs)
        ]


class _Steps:
    """The steps of a measurement. `job` is that of the present step; a failure is its status."""

    def __init__(
        self,
        session: DeviceSession,
        runs: Sequence[JobRun],
        progress: Progress,
        finished: BlockObserver | None,
    ) -> None:
        self._session, self._runs, self._progress = session, runs, progress
        self._finished = finished
        self.job = 0

    def carry_out(self, schedule: Schedule, *, still: bool) -> None:
        """Carries out all steps in order. Raises TrimtabError."""
        for run in self._runs:
            run.describe()
        self._complete(self._prepare)
        self._run_schedule(schedule, still=still)
        for job, run in enumerate(self._runs):
            self._complete(run.measure_energy, job)
            self._complete(run.describe_after, job)

    def _complete(self, step: Callable[[], None], job: int = 0) -> None:
        """Does a step of prepared runs, and repeats it after a disconnect. Raises TrimtabError."""
        disconnects: list[DeviceUnreachableError] = []
        while True:
            try:
                if disconnects:
                    self._resume(disconnects[-1])
                self._prepare()
                self.job = job
                step()
            except DeviceUnreachableError as error:
                disconnects.append(error)
                if error.is_final or len(disconnects) > MAX_DISCONNECTS:
                    raise
            else:
                return

    def _resume(self, error: DeviceUnreachableError) -> None:
        cause = self._session.recover(error)
        for run in self._runs:
            run.resume(cause)

    def _prepare(self) -> None:
        for job, run in enumerate(self._runs):
            self.job = job
            run.prepare()

    def _run_schedule(self, schedule: Schedule, *, still: bool) -> None:
        begin_s, done = time.monotonic(), 0
        title = f"measure on {self._session.device.name}"
        with (
            self._progress.step(title, "launches", still=still) as step,
            ThreadPoolExecutor(len(self._session.lanes)) as pool,
        ):
            for block in _blocks(schedule):
                step.update(done, len(schedule))
                self._complete(partial(self._launch, block, pool, begin_s))
                done += len(block)
            step.update(done, len(schedule))

    def _launch(self, block: Schedule, pool: ThreadPoolExecutor, begin_s: float) -> None:
        """Carries out all launches of a block."""
        is_throttled = False
        for scheduled in block:
            at_s = round(time.monotonic() - begin_s, 3)
            with self._session.control.launch() as conditions:
                if len(scheduled) == 1:
                    self.job = scheduled[0].job
                    self._runs[self.job].launch(scheduled[0], at_s, self._session.device)
                else:
                    self._launch_simultaneously(scheduled, pool, at_s)
            for one in scheduled:
                self._runs[one.job].note({"event": "conditions", **conditions.to_json()})
            is_throttled |= bool(conditions.throttled)
        launches = [run.finish_block() for run in self._runs]
        if self._finished:
            self._finished(launches, is_throttled)

    def _launch_simultaneously(
        self, scheduled: Sequence[ScheduledLaunch], pool: ThreadPoolExecutor, at_s: float
    ) -> None:
        launches = [
            pool.submit(self._runs[one.job].launch, one, at_s, lane)
            for one, lane in zip(scheduled, self._session.lanes, strict=True)
        ]
        wait(launches)  # all end before any error is raised
        for one, launch in zip(scheduled, launches, strict=True):
            self.job = one.job
            launch.result()


def _blocks(schedule: Schedule) -> Iterator[Schedule]:
    """Groups the entries of a schedule by block; an entry without a block forms its own group."""
    numbered = enumerate(schedule)
    for _, group in groupby(numbered, lambda item: item[1][0].tags.get("block", f"no {item[0]}")):
        yield [entry for _, entry in group]


def _header(device: Device, info: DeviceInfo, job: Job, control: Controlled) -> Header:
    subject = job.subject
    # Under user-mode emulation the peak memory is that of the emulator's process.
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
        device=RecordedDevice(device.name, peak_of, **asdict(info)),
        is_emulated=info.is_emulated,
        protocol={**asdict(job.settings), **job.role},
        affinity=control.cores,
        control=control.to_json(),
        made_from=dict(subject.made_from),
    )


def _facts(path: Path) -> FileFacts:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultError(
            f"the file cannot be read: {error.strerror}",
            where=str(path),
            hint=f"build it: {PROGRAM} build",
        ) from error
    return FileFacts(path.name, len(data), hashlib.sha256(data).hexdigest())
