"""The simulated caches against arithmetic and a reference model in Python."""

from __future__ import annotations

from collections import Counter, OrderedDict
from pathlib import Path

import pytest

from tests.devices.conftest import HERE, compile_c, require_counting
from tests.some import some
from trimtab.cores import Cache
from trimtab.devices import CacheSimulator, find_device
from trimtab.devices.cache_log import CacheInterval

pytestmark = pytest.mark.device

KIB = 1024
L1, L2 = Cache(32 * KIB, 4, 64), Cache(512 * KIB, 16, 64, shared_by=4)
FEW = 12  # lines of the stack and of the program's own


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_counting()
    return compile_c(HERE / "caches.c", "aarch64-linux-musl", tmp_path_factory.mktemp("caches"))


def simulated(
    program: Path, *words: object, caches: tuple[Cache, ...] = (L1, L2)
) -> list[CacheInterval]:
    """The intervals between the markers of each operator."""
    with find_device("qemu-a53").open() as device:
        assert isinstance(device, CacheSimulator)
        argv = [device.push(program).path, *map(str, words)]
        result, log = device.simulate_caches(argv, caches, timeout_s=120)
    assert result.ok
    return [interval for interval in log.intervals if interval.phase == 6]


def misses(interval: CacheInterval) -> tuple[int, int]:
    return sum(cpu.l1_misses for cpu in interval.cpus), interval.levels[0].misses


def about(lines: int) -> object:
    return pytest.approx(lines, abs=FEW)


@pytest.mark.parametrize(
    ("kib", "first", "second"),
    [
        (16, (256, 256), (0, 0)),  # fits into L1
        (256, (4096, 4096), (4096, 0)),  # into L2
        (1024, (16384, 16384), (16384, 16384)),  # into neither: LRU keeps nothing of a stream
    ],
)
def test_a_stream_misses_what_does_not_fit(
    program: Path, kib: int, first: tuple[int, int], second: tuple[int, int]
) -> None:
    turns = simulated(program, "walk", kib * KIB, 4, "r", 2)
    assert misses(turns[0]) == tuple(map(about, first))
    assert misses(turns[1]) == tuple(map(about, second))
    assert turns[1].levels[0].writes <= FEW  # nothing was written


def test_a_stride_over_the_sets_misses_with_few_lines(program: Path) -> None:
    # 8 lines of one set of 4 ways: each access of each turn misses L1; L2 has 16 ways.
    turns = simulated(program, "walk", 8 * 8 * KIB, 8 * KIB, "r", 3)
    assert misses(turns[2]) == (about(8), about(0))


def test_written_lines_go_to_memory_once(program: Path) -> None:
    turns = simulated(program, "walk", 1024 * KIB, 64, "w", 2)
    lines = 16384
    assert turns[1].levels[0].misses == about(lines)
    assert turns[1].levels[0].writes == about(lines)


def test_a_third_level_catches_what_the_second_does_not(program: Path) -> None:
    l3 = Cache(2048 * KIB, 16, 64, shared_by=4)
    turns = simulated(program, "walk", 1024 * KIB, 64, "r", 2, caches=(L1, L2, l3))
    assert turns[1].levels[0].misses == about(16384)
    assert turns[1].levels[1].misses == about(0)


class Lru:
    """A reference model of one cache level."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        sets = cache.bytes // cache.line_bytes // cache.ways
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]

    def use(self, line: int, dirty: bool) -> tuple[bool, int | None]:
        """Whether the line was cached, and the dirty line that it evicts."""
        own = self.sets[line % len(self.sets)]
        if line in own:
            own[line] |= dirty
            own.move_to_end(line)
            return True, None
        out = own.popitem(last=False) if len(own) == self.cache.ways else (0, False)
        own[line] = dirty
        return False, out[0] if out[1] else None


def by_the_book(count: int, size: int) -> tuple[int, int, int]:
    """Misses of L1, of L2, and lines written to memory, of the program's `jump`."""
    l1, l2 = Lru(L1), Lru(L2)
    state, l1_misses, l2_misses, written = 1, 0, 0, 0
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        line = (state >> 8) % size // 64
        hit, left = l1.use(line, i % 3 == 0)
        if hit:
            continue
        l1_misses += 1
        hit, below = l2.use(line, False)
        l2_misses += not hit
        written += below is not None
        if left is not None:
            written += l2.use(left, True)[1] is not None
    return l1_misses, l2_misses, written


@pytest.mark.parametrize("kib", [48, 700, 3000])
def test_random_accesses_miss_as_in_the_reference_model(program: Path, kib: int) -> None:
    turn = simulated(program, "jump", 100_000, kib * KIB)[0]
    l1_misses, l2_misses, written = by_the_book(100_000, kib * KIB)
    # A line of the stack in a set of each level may push out one of the program's.
    assert misses(turn)[0] == pytest.approx(l1_misses, rel=2e-3)
    assert misses(turn)[1] == pytest.approx(l2_misses, rel=2e-3)
    assert turn.levels[0].writes == pytest.approx(written, rel=2e-3, abs=FEW)


def test_threads_have_their_own_first_level_and_share_the_second(program: Path) -> None:
    turn = simulated(program, "share", 256 * KIB)[0]
    assert len(turn.cpus) == 2
    lines = 4096
    for cpu in turn.cpus:
        assert cpu.l1_misses == pytest.approx(lines, abs=200)  # a new thread has misses of its own
    assert turn.levels[0].misses == pytest.approx(lines, abs=200)


def test_threads_take_equal_parts_of_the_work_whatever_the_host_runs(program: Path) -> None:
    reads = 3000  # of a block of work
    for turn in some(simulated(program, "take", 20, 32)):
        ran = Counter[int]()
        for cpu in turn.cpus:
            ran.update(cpu.ran)
        hot, times = ran.most_common(1)[0]
        assert times == pytest.approx(32 * reads, rel=0.01)
        assert [round(cpu.ran.get(hot, 0) / reads) for cpu in turn.cpus] == [8, 8, 8, 8]


def test_the_executed_machine_code_is_in_the_log(program: Path) -> None:
    with find_device("qemu-a53").open() as device:
        assert isinstance(device, CacheSimulator)
        argv = [device.push(program).path, "walk", "1024", "4", "r", "1"]
        log = device.simulate_caches(argv, (L1, L2), timeout_s=60)[1]
    for interval in log.intervals:
        ran = [item for cpu in interval.cpus for item in cpu.ran.items()]
        executed = sum(len(log.blocks[n]) // 4 * times for n, times in ran)
        assert executed == sum(cpu.instructions for cpu in interval.cpus)
    assert log.intervals[-1].phase == 0  # it ended normally


def test_a_program_that_is_not_there_is_exit_code_127(program: Path) -> None:
    with find_device("qemu-a53").open() as device:
        assert isinstance(device, CacheSimulator)
        result, log = device.simulate_caches(["missing"], (L1, L2), timeout_s=60)
    assert result.exit_code == 127
    assert not log.intervals
