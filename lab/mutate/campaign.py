"""Plants mutants in copies of the checkout and runs the tests that may notice.

A mutant is caught if a test fails that passes without the bug, or if tests do not end in time.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from queue import SimpleQueue

from lab.dev import shell
from lab.dev.rooms import nearest
from lab.mutate.figures import CAUGHT, SURVIVED, MutantOutcome
from lab.mutate.mutants import Mutant
from lab.mutate.rooms import Language, SourceRoom
from lab.mutate.workers import CHECKS, ENGINE, RUNNER, TestRun, Worker
from trimtab import files, paths
from trimtab.errors import BuildError
from trimtab.progress import Progress

_FAST = ("-m", "not slow and not build and not device")
_SAMPLED = ("-m", f"{_FAST[1]} and not bounds")  # `--every` leaves none of those out
_NOT_SLOW = ("-m", "not slow")
_COMPILED = ("-m", "(build or device) and not slow")
_ON_HOST = ("-m", "not slow and not device")
LIMIT_S = 600  # of one run of tests
_AT_ONCE = 4  # mutants of a copy, before the tests that caught them run without a bug
_EVERY = 24  # of the engine's tests that do not name the changed file
# Bugs of operators also show in networks that are imported or trained.
_OF_NETWORKS = ("tests/learning", "tests/importers", "--every=4")
_BUILT = ("-m", "build and not slow and not device")
_ON_DEVICE = ("-m", "device and not slow and not build")
_OF_RUNNER = (
    *("tests/build", "tests/camera", "tests/pipeline", "tests/learning", "-k"),
    "test_builder or test_runner or test_images or test_measured or test_remote",
)
_OF_LIBRARY = (
    *("tests/build", "tests/core", "tests/camera", "-k"),
    "test_embedding or test_states or test_limits or test_core or test_memory or test_images",
)
_PROGRAMS = {"core": CHECKS, "ops": CHECKS[:1], "api": CHECKS[:1]}
_AT_RUN_TIME = ("tests/plugins", "-k", "python_operators")
NEAREST: Mapping[str, tuple[str, ...]] = {
    "bindings/executor": ("tests/engine",),
    "bindings/hand_over": ("tests/lab/test_machine.py",),
    "bindings/kernel_": ("tests/lab/test_roofline.py",),
    "bindings/run_time_operators": _AT_RUN_TIME,
    "bindings/weights": ("tests/planner/test_packing.py", "tests/engine/test_weights.py"),
    "kernels/generic/camera_row": ("tests/camera",),
    "kernels/x86/camera_row": ("tests/camera",),
    "runtime/api/boxes": ("tests/examples/test_camera.py",),
    "runtime/api/image": ("tests/camera/test_images.py",),
    "runtime/api/load_plugin": _AT_RUN_TIME,
    "runtime/api/run_time_operator": _AT_RUN_TIME,
    "runtime/api/train": ("tests/learning/test_remote.py",),
    "runtime/api/trimtab_plugin": _AT_RUN_TIME,
    "runtime/api": ("tests/engine",),
    "runtime/app/image": ("tests/camera/test_images.py",),
    "runtime/app/picture": ("tests/core/test_pictures.py",),
    "runtime/app/train": ("tests/learning/test_remote.py",),
}
"""The tests nearest to sources of the engine that are not named after them, by how the paths of
these begin.
"""


@dataclass(frozen=True)
class Stage:
    """One run of tests: a check program of the engine, or words for pytest. `instead`: the words if
    those select no test. `limit_s`: of the run.
    """

    words: tuple[str, ...]
    program: str = ""
    instead: tuple[str, ...] = ()
    limit_s: float = LIMIT_S

    def without(self, tests: Iterable[str]) -> Stage:
        """The same run without some tests."""
        return replace(self, words=(*self.words, *(f"--deselect={test}" for test in tests)))


Judged = tuple[SourceRoom, Mutant, list[Stage]]
"""A mutant and the runs of tests that judge it."""


@dataclass(frozen=True)
class Judgement:
    """The outcome of a mutant, and the run of tests that caught it, None for a survivor."""

    outcome: MutantOutcome
    stage: Stage | None

    @property
    def is_named(self) -> bool:
        """Whether a test, or a file of tests, is what caught it."""
        return ".py" in self.outcome.by


def select(room: SourceRoom, count: int, seed: str) -> list[Mutant]:
    """Mutants of a room in random order, more than `count`: each kind is drawn equally often, and
    each line once.
    """
    generator = random.Random(f"{room.name} {seed}")
    kinds: dict[str, list[Mutant]] = {}
    for mutant in room.mutants(shell.ROOT):
        kinds.setdefault(mutant.kind, []).append(mutant)
    for mutants in kinds.values():
        generator.shuffle(mutants)
    drawn: dict[tuple[str, int], Mutant] = {}
    while kinds and len(drawn) < 3 * count:
        kind = generator.choice(sorted(kinds))
        mutant = kinds[kind].pop()
        drawn.setdefault((mutant.file, mutant.line), mutant)
        if not kinds[kind]:
            del kinds[kind]
    return [*drawn.values()]


def run(
    room: SourceRoom, count: int, seed: str, jobs: int, progress: Progress
) -> Iterator[MutantOutcome]:
    """The outcomes of `count` mutants of a room."""
    numbers = range(1) if room.is_cpp else range(1, jobs + 1)
    with progress.step(f"{room.name}: copy the checkout"), prepared(numbers, room) as pool:
        waiting = iter(select(room, count, seed))
        done = survived = 0
        with progress.step(room.name, "mutants") as step:
            while done < count and (batch := [*islice(waiting, count - done)]):
                work = [(room, mutant, stages(room, mutant)) for mutant in batch]
                for outcome in judged(pool, work):
                    yield outcome
                    done += 1
                    if outcome.outcome == SURVIVED:
                        progress.note(f"survived: {outcome.place}: {outcome.after}")
                        survived += 1
                    step.update(done, count, f"{survived} survived")


@contextmanager
def prepared(numbers: range, room: SourceRoom) -> Iterator[list[Worker]]:
    """Copies of the checkout as it is now, which no other campaign uses. Number 0 has the build
    trees.
    """
    with files.locked(paths.cache() / "mutate" / f".lock-{numbers[0]}"):
        pool = [Worker(number) for number in numbers]
        for worker in pool:
            worker.prepare()
            if room.is_sanitized:
                worker.configure()
        yield pool


def judged(pool: Sequence[Worker], work: Sequence[Judged]) -> Iterator[MutantOutcome]:
    """The outcomes of mutants of rooms that are built alike, each judged by its runs of tests.

    Tests that also fail without the bug catch nothing, nor do runs that also end so without it:
    they are left out, and the mutants that they seemed to catch are judged again.
    """
    size = _AT_ONCE * len(pool)
    for start in range(0, len(work), size):
        yield from _judged_at_once(pool, work[start : start + size])


def _judged_at_once(pool: Sequence[Worker], work: Sequence[Judged]) -> Iterator[MutantOutcome]:
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in pool:
        free.put(worker)

    def judgement(entry: Judged) -> Judgement | None:
        worker = free.get()
        try:
            return judge(worker, *entry)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(len(pool)) as threads:
        while work:
            again = []
            results = [*zip(work, threads.map(judgement, work), strict=True)]
            failing, ending = _without_bug(pool[0], work[0][0], [one for _, one in results if one])
            for (room, mutant, tests), result in results:
                if result and (result.outcome.by in failing or result.stage in ending):
                    left = [stage.without(failing) for stage in tests if stage not in ending]
                    again.append((room, mutant, left))
                elif result:
                    yield result.outcome
            work = again


def _without_bug(
    worker: Worker, room: SourceRoom, results: Sequence[Judgement]
) -> tuple[set[str], set[Stage]]:
    """The tests that caught a mutant and also fail without a bug, and the runs that named no test
    and also fail without one.
    """
    caught = [one for one in results if one.stage]
    failing = set()
    if by := sorted({one.outcome.by for one in caught if one.is_named}):
        _build(worker, room, Stage(()))
        failing = worker.failing(by, sanitized=room.is_sanitized)
    ends: dict[Stage, str] = {}
    ending = set()
    for one in caught:
        if one.stage and not one.is_named:
            if one.stage not in ends:
                _build(worker, room, one.stage)
                ends[one.stage] = _run(worker, room, one.stage).failed
            if ends[one.stage]:
                ending.add(one.stage)
    return failing, ending


def judge(
    worker: Worker, room: SourceRoom, mutant: Mutant, tests: Sequence[Stage]
) -> Judgement | None:
    """The outcome of one mutant; None if it is not a program."""
    source = (worker.root / mutant.file).read_text("utf-8")
    if not _is_program(room.language, mutant.applied(source)):
        return None
    seconds, caught, by = 0.0, "", None
    with worker.planted(mutant):
        for stage in tests:
            try:
                _build(worker, room, stage)
            except BuildError:
                return None
            caught, spent = _catch(worker, room, stage)
            seconds += spent
            if caught:
                by = stage
                break
    outcome = MutantOutcome(
        room=room.name,
        file=mutant.file,
        line=mutant.line,
        kind=mutant.kind,
        before=mutant.before(source),
        after=mutant.after(source),
        outcome=CAUGHT if caught else SURVIVED,
        by=caught,
        seconds=round(seconds, 1),
    )
    return Judgement(outcome, by)


def _catch(worker: Worker, room: SourceRoom, stage: Stage) -> tuple[str, float]:
    """The test of a run that catches the planted bug, "" if none does, and the seconds. A test has
    to fail twice: one that failed once may only have been short of time.
    """
    seconds, failed = 0.0, ""
    while True:
        result = _run(worker, room, stage)
        seconds += result.seconds
        if "::" not in result.failed or result.failed == failed:
            return result.failed, seconds
        failed = result.failed
        again = worker.test((failed,), stage.limit_s, sanitized=room.is_sanitized)
        seconds += again.seconds
        if again.failed:
            return failed, seconds
        stage = stage.without([failed])


def stages(room: SourceRoom, mutant: Mutant) -> list[Stage]:
    """The runs of tests that may catch a mutant: for Python those nearest to the module, all of
    its room; those nearest to it that compile or need a device, or of its room where there are no
    others. For scripts, which only devices run, those that name them.
    """
    if room.toolchains:
        return [Stage(("tests/kernels/test_kernels.py", "-k", "emulated_core", *_NOT_SLOW))]
    if room.is_cpp:
        return [*_of_engine(room, mutant)]
    own, whole = nearest(mutant.file), room.tests()
    if room.language is Language.SHELL:
        return [Stage((*whole, *_FAST)), *[Stage((*own, *_ON_DEVICE))] * bool(own)]
    runs = [own, [] if own == whole else whole]
    fast = [Stage((*tests, *_FAST), instead=(*tests, *_NOT_SLOW)) for tests in runs if tests]
    return [*fast, *[Stage((*own, *_COMPILED))] * bool(own)]


def _of_engine(room: SourceRoom, mutant: Mutant) -> Iterator[Stage]:
    nearest = next((NEAREST[one] for one in NEAREST if mutant.file.startswith(one)), ())
    if room.name == "app":  # a program, which tests build
        if nearest:
            yield Stage((*nearest, *_ON_HOST))
        yield Stage((*_OF_RUNNER, *_BUILT))
        return
    kernels = mutant.file.startswith("kernels/")
    for program in ("check_kernels",) if kernels else _PROGRAMS.get(room.name, ()):
        yield Stage((), program)
    if nearest:
        yield Stage((*nearest, *_ON_HOST))
    name = mutant.file.rpartition("/")[2].partition(".")[0]
    words = [name, *(word for word in name.split("_") if len(word) > 3)]
    yield Stage(("tests/ops", "tests/engine", "-k", " or ".join(dict.fromkeys(words)), *_FAST))
    whole = ("tests/engine", "tests/modelfile", "tests/ops", f"--every={_EVERY}", *_SAMPLED)
    yield Stage(whole)
    yield Stage((*_OF_NETWORKS, *_FAST))
    if room.name == "api":
        yield Stage((*_OF_LIBRARY, *_BUILT))


def _build(worker: Worker, room: SourceRoom, stage: Stage) -> None:
    """Builds what a run of tests needs of the engine: linking takes longer than many a test."""
    if room.toolchains:
        worker.cross_build(room.toolchains)
    elif room.is_cpp:
        worker.build(stage.program or (RUNNER if room.name == "app" else ENGINE))


def _run(worker: Worker, room: SourceRoom, stage: Stage) -> TestRun:
    if stage.program:
        return worker.check(stage.program, stage.limit_s)
    result = worker.test(stage.words, stage.limit_s, sanitized=room.is_sanitized)
    if result.is_empty and stage.instead:
        return worker.test(stage.instead, stage.limit_s, sanitized=room.is_sanitized)
    return result


def _is_program(language: Language, source: str) -> bool:
    """Whether Python or the shell can read a source; compilers tell it of their own."""
    if language is Language.SHELL:
        read = subprocess.run(["sh", "-n", "-c", source], capture_output=True, check=False)
        return read.returncode == 0
    if language is Language.CPP:
        return True
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True
