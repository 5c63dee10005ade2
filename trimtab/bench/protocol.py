"""The measuring protocol: what is done on a device, in which order.

Push; check the golden output, before anything is timed; then several launches, each of which loads,
runs for the first time, warms up and runs in a steady state, and then, if asked, as many times with
a clock around every operator, apart because those clocks cost time themselves. Several subjects are
measured in turns, as a schedule says. Everything the runner prints goes into the record as it is,
also what it printed before it ran out of time or the link broke.

A device that is lost meanwhile is waited for and taken again, and what was going on is done once
more: of launches all of their block, since those before do not belong to those after.
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

from trimtab.bench.golden import Golden
from trimtab.bench.job_run import JobRun
from trimtab.bench.jobs import Job, Schedule, Settings, Subject, Turn
from trimtab.bench.session import Session
from trimtab.devices import facts
from trimtab.devices.control import Controlled
from trimtab.devices.protocol import Device, DeviceInfo, InstructionCounter
from trimtab.errors import DeviceUnreachableError, ResultError, TrimtabError
from trimtab.progress import SILENT, Progress
from trimtab.results.records import FileFacts, Header, Writer

MOST_LOSSES = 3  # of the device in one step: perhaps it is the step that brings it down


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
    control, lanes = jobs[0].settings.control, max(map(len, schedule))
    threads = lanes * max(job.settings.threads for job in jobs)
    with (
        Session(device, control, threads=threads, lanes=lanes, note=progress.note) as session,
        ExitStack() as stack,
    ):
        runs = []
        for job in jobs:
            settings = job.settings.resolved(is_emulated=info.is_emulated)
            whole = dataclasses.replace(job, settings=settings)
            header = _header(device, info, whole, session.held)
            writer = stack.enter_context(Writer(directory, header))
            runs.append(JobRun(session, info, whole, writer, progress))
        steps = _Steps(session, runs, progress)
        errors: dict[int, TrimtabError] = {}
        try:
            # Where this Python takes part in what is timed, it does nothing else meanwhile.
            steps.carry_out(schedule, still=not info.is_emulated and facts.is_this_machine(info))
        except ResultError:
            raise
        except TrimtabError as error:
            errors[steps.job] = error
        return [
            Outcome(run.path, run.end(errors.get(index), is_cut_short=bool(errors)))
            for index, run in enumerate(runs)
        ]


class _Steps:
    """The steps of a measurement; `job`: whose turn it is, and whose failure is raised, if any."""

    def __init__(self, session: Session, runs: Sequence[JobRun], progress: Progress) -> None:
        self._session, self._runs, self._progress = session, runs, progress
        self.job = 0

    def carry_out(self, schedule: Schedule, *, still: bool) -> None:
        """All steps in order; raises TrimtabError."""
        for run in self._runs:
            run.describe()
        self._complete(self._prepare)
        self._take_turns(schedule, still=still)
        for job, run in enumerate(self._runs):
            self._complete(run.measure_energy, job)
            self._complete(run.describe_after, job)

    def _complete(self, step: Callable[[], None], job: int = 0) -> None:
        """Does a step of runs that are prepared, from its beginning whenever the device was lost;
        raises TrimtabError.
        """
        losses: list[DeviceUnreachableError] = []
        while True:
            try:
                if losses:
                    self._resume(losses[-1])
                self._prepare()
                self.job = job
                step()
            except DeviceUnreachableError as error:
                losses.append(error)
                if len(losses) > MOST_LOSSES:
                    raise
            else:
                return

    def _resume(self, lost: DeviceUnreachableError) -> None:
        why = self._session.recover(lost)
        for run in self._runs:
            run.resume(why)

    def _prepare(self) -> None:
        for job, run in enumerate(self._runs):
            self.job = job
            run.prepare()

    def _take_turns(self, schedule: Schedule, *, still: bool) -> None:
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
        """All launches of a block."""
        for turns in block:
            at_s = round(time.monotonic() - begin_s, 3)
            with self._session.held.launch() as conditions:
                if len(turns) == 1:
                    self.job = turns[0].job
                    self._runs[self.job].launch(turns[0], at_s, self._session.device)
                else:
                    self._launch_at_once(turns, pool, at_s)
            for turn in turns:
                self._runs[turn.job].note({"event": "conditions", **conditions.to_json()})
        for run in self._runs:
            run.finish_block()

    def _launch_at_once(self, turns: Sequence[Turn], pool: ThreadPoolExecutor, at_s: float) -> None:
        launches = [
            pool.submit(self._runs[turn.job].launch, turn, at_s, lane)
            for turn, lane in zip(turns, self._session.lanes, strict=True)
        ]
        wait(launches)  # all of them, before anything is said or done of one
        for turn, launch in zip(turns, launches, strict=True):
            self.job = turn.job
            launch.result()


def _blocks(schedule: Schedule) -> Iterator[Schedule]:
    """The entries that belong together: those of one block, else each alone."""
    alone = enumerate(schedule)
    for _, block in groupby(alone, lambda entry: entry[1][0].place.get("block", f"no {entry[0]}")):
        yield [turns for _, turns in block]


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
