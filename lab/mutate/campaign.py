"""Plants mutants in copies of the checkout and runs the tests that may notice.

A mutant is caught if a test fails that passes without the bug, or if tests do not end in time.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable, Iterator, Sequence
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
from lab.mutate.workers import CHECKS, TIMEOUT, TestRun, Worker
from trimtab import files, paths
from trimtab.errors import BuildError
from trimtab.progress import Progress

_FAST = ("-m", "not slow and not build and not device")
_SAMPLED = ("-m", f"{_FAST[1]} and not bounds")  # `--every` leaves none of those out
_NOT_SLOW = ("-m", "not slow")
LIMIT_S = 600  # of one run of tests
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
            if room.is_cpp:
                worker.build(room.toolchains)
        yield pool


def judged(pool: Sequence[Worker], work: Sequence[Judged]) -> Iterator[MutantOutcome]:
    """The outcomes of mutants of rooms that are built alike, each judged by its runs of tests.

    Tests that also fail without the bug catch nothing: they are left out, and the mutants that they
    seemed to catch are judged again.
    """
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in pool:
        free.put(worker)
    failing: set[str] = set()

    def outcome(entry: Judged) -> MutantOutcome | None:
        room, mutant, tests = entry
        worker = free.get()
        try:
            return judge(worker, room, mutant, [stage.without(failing) for stage in tests])
        finally:
            free.put(worker)

    with ThreadPoolExecutor(len(pool)) as threads:
        while work:
            again = []
            results = [*zip(work, threads.map(outcome, work), strict=True)]
            by = {result.by for _, result in results if result and ".py" in result.by}
            first = work[0][0]
            if by and first.is_cpp:
                pool[0].build(first.toolchains)
            more = pool[0].failing(sorted(by), sanitized=first.is_sanitized) if by else set()
            failing |= more
            for entry, result in results:
                if result and result.by in more:
                    again.append(entry)
                elif result:
                    yield result
            work = again


def judge(
    worker: Worker, room: SourceRoom, mutant: Mutant, tests: Sequence[Stage]
) -> MutantOutcome | None:
    """The outcome of one mutant; None if it is not a program."""
    source = (worker.root / mutant.file).read_text("utf-8")
    if not _is_program(room.language, mutant.applied(source)):
        return None
    seconds, caught = 0.0, ""
    with worker.planted(mutant):
        if room.is_cpp:
            try:
                worker.build(room.toolchains)
            except BuildError:
                return None
        for stage in tests:
            caught, spent = _catch(worker, room, stage)
            seconds += spent
            if caught:
                break
    if caught == TIMEOUT:
        if room.is_cpp:
            worker.build(room.toolchains)
        if _run(worker, room, stage).failed == TIMEOUT:
            caught = ""  # these tests take as long without the bug
    return MutantOutcome(
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
    its room; those that compile or need a device where there are no others. For scripts, which only
    devices run, those that name them.
    """
    if room.toolchains:
        return [Stage(("tests/kernels/test_kernels.py", "-k", "emulated_core", *_NOT_SLOW))]
    if room.is_cpp:
        return [*_of_engine(room, mutant)]
    own, whole = nearest(mutant.file), room.tests()
    if room.language is Language.SHELL:
        return [Stage((*whole, *_FAST)), *[Stage((*own, *_ON_DEVICE))] * bool(own)]
    runs = [own, [] if own == whole else whole]
    return [Stage((*tests, *_FAST), instead=(*tests, *_NOT_SLOW)) for tests in runs if tests]


def _of_engine(room: SourceRoom, mutant: Mutant) -> Iterator[Stage]:
    if room.name == "app":  # a program, which tests build
        yield Stage((*_OF_RUNNER, *_BUILT))
        return
    for program in CHECKS if room.name in ("core", "api") else CHECKS[:1]:
        yield Stage((), program)
    if mutant.file.startswith("kernels/"):
        yield Stage((), "check_kernels")
    name = mutant.file.rpartition("/")[2].partition(".")[0]
    keyword = " or ".join([name, *(word for word in name.split("_") if len(word) > 3)])
    yield Stage(("tests/ops", "tests/engine", "-k", keyword, *_FAST))
    whole = ("tests/engine", "tests/modelfile", "tests/ops", f"--every={_EVERY}", *_SAMPLED)
    yield Stage(whole)
    yield Stage((*_OF_NETWORKS, *_FAST))
    if room.name == "api":
        yield Stage((*_OF_LIBRARY, *_BUILT))


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
