"""The time model: the log of simulated caches, the costs, and the validation on boards."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lab import committed
from lab.committed import Results
from lab.time_model import boards, cards, figures, throughput, traffic
from lab.time_model.figures import ModeledInference
from lab.time_model.simulate import model_time
from lab.time_model.traffic import Traffic
from trimtab import cores
from trimtab.cores import Core, Memory
from trimtab.devices import cache_log
from trimtab.devices.cache_log import CacheLog, CpuCounts, LevelCounts
from trimtab.errors import EmulatorError, UsageError
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.cost import STALLS
from trimtab.progress import SILENT, Progress

A53 = cores.find("cortex-a53")
LOG = """block 0 1f2003d5
block 1 1f2003d51f2003d5
mark 5 0
cpu 0 9 1
ran 0 9
level 2 1 0
mark 6 0
cpu 0 90 7
ran 1 45
cpu 1 60 3
ran 0 10
ran 1 25
level 2 5 2
mark 6 1
cpu 0 2 0
ran 1 1
level 2 0 0
mark 0 0
"""


def test_the_log_is_read() -> None:
    log = cache_log.parse(LOG)
    assert log.blocks == {0: bytes.fromhex("1f2003d5"), 1: bytes.fromhex("1f2003d5") * 2}
    second = log.intervals[1]
    assert (second.phase, second.index) == (6, 0)
    assert second.cpus == (CpuCounts(90, 7, {1: 45}), CpuCounts(60, 3, {0: 10, 1: 25}))
    assert second.levels == (LevelCounts(5, 2),)
    assert log.intervals[-1].phase == 0


@pytest.mark.parametrize(
    "line", ["qemu: uncaught target signal", "mark 6", "mark 6 x", "cpu 0 1", "ran 1", "block 2 xy"]
)
def test_a_line_that_the_plugin_does_not_write_is_an_error(line: str) -> None:
    with pytest.raises(EmulatorError, match="unexpected line"):
        cache_log.parse(LOG + line)


def test_a_count_before_the_first_mark_is_an_error() -> None:
    with pytest.raises(EmulatorError, match="unexpected line"):
        cache_log.parse("cpu 0 1 2")


def test_an_operator_has_the_counts_between_its_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "cycles", lambda blocks, core, progress: {0: 9.0, 1: 4.0})
    costs = traffic.of_operators(cache_log.parse(LOG), A53)
    # The busiest thread is not the one with the most instructions.
    assert costs[0] == Traffic(150, 190.0, 10, 5, 5 * 64, 2 * 64)
    assert costs[1] == Traffic(2, 4.0, 0, 0, 0, 0)
    assert traffic.total(costs.values()).instructions == 152
    assert traffic.total([]) == Traffic()


def test_a_card_has_what_threads_lose_and_what_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def modeled(recipe: Recipe, core: Core, progress: Progress) -> ModeledInference:
        cycles = 24e6 / recipe.threads + (3e6 if recipe.threads > 1 else 0)
        operators = ("conv a", Traffic(cycles=cycles - 1e6)), ("add b", Traffic(1, 1e6, 0, 0, 5, 6))
        return ModeledInference("net", core, "int8", recipe.threads, operators, {})

    monkeypatch.setattr(cards, "model_time", modeled)
    row, _ = cards.row("resnet18", "int8", SILENT)
    assert row.modeled_ms == pytest.approx(STALLS * 9e6 / 2.4e6, rel=1e-3)
    assert row.ratio == row.modeled_ms / 8.751
    assert (row.uneven, row.traffic_bytes) == (1.5, 11)
    assert row.most == "conv 89%, add 11%"


def test_a_log_without_operators_is_an_error() -> None:
    with pytest.raises(EmulatorError, match="no operators"):
        traffic.of_operators(CacheLog((), {}), A53)


def test_time_is_the_sum_of_computing_and_memory() -> None:
    memory = Memory(clock_ghz=2.0, gb_per_s=4.0)
    assert figures.seconds(Traffic(read_bytes=3, written_bytes=1), memory) == pytest.approx(1e-9)
    computing = figures.seconds(Traffic(cycles=2e9), memory)
    assert computing == pytest.approx(STALLS)


def test_a_board_may_have_another_l2_and_another_bandwidth() -> None:
    board = figures.with_board(A53, 128 * 1024, 2.5)
    assert board.l2.bytes == 128 * 1024
    assert board.memory is not None
    assert board.memory.gb_per_s == 2.5
    assert figures.with_board(A53, None, None) == A53


@pytest.mark.parametrize("size", [1, 1000, 512 * 1024 + 64])
def test_an_l2_size_that_is_no_multiple_of_ways_and_lines_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="invalid L2 size") as raised:
        figures.with_board(A53, size, None)
    assert "a multiple of 1024" in str(raised.value)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_an_invalid_bandwidth_is_refused(rate: float) -> None:
    with pytest.raises(UsageError, match="invalid bandwidth"):
        figures.with_board(A53, None, rate)


def test_a_core_without_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="neither clock nor bandwidth"):
        figures.memory_of(dataclasses.replace(A53, memory=None))


def test_a_core_without_a_scheduling_model_is_refused() -> None:
    with pytest.raises(UsageError, match="no scheduling model of cortex-a7"):
        throughput.require_model(cores.find("cortex-a7"))


def test_a_binary_of_another_architecture_is_refused() -> None:
    with pytest.raises(UsageError, match="haswell do not run on cortex-a53"):
        model_time(Recipe(model="squeezenet", cpu="haswell"), A53)


def test_the_fit_recovers_the_bandwidth_of_a_board(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[dict[str, Any]] = []
    measured: list[dict[str, Any]] = []
    for name, cycles, read in (("a", 10**8, 10**7), ("b", 10**7, 10**8), ("c", 10**8, 10**8)):
        key = {"core": "cortex-a53", "network": name, "threads": 1}
        moved = {"cycles": cycles, "read_bytes": read, "written_bytes": read // 2}
        counts.append({**key, "instructions": 1, **moved})
        ms = 1.1 * cycles / 1.5e6 + 1.5 * read / 3e6  # at 1.5 GHz and 3 GB/s
        measured.append({**key, "board": "board", "ghz": 1.5, "ms": ms})
    files = {"time_model/ncnn_traffic": counts, "time_model/ncnn_boards": measured}
    monkeypatch.setattr(committed, "read", lambda name: results(files[name]))
    (run,) = boards.compare()
    assert run.gb_per_s == pytest.approx(3, rel=0.01)
    assert boards.median(run.errors) < 0.01
    assert abs(boards.worst(run.errors)[1]) < 0.01
    assert run.shared == run.errors
    assert abs(boards.worst(run.instructions_alone)[1]) > 0.2


def results(rows: list[dict[str, Any]]) -> Results:
    return Results(command="", versions={}, rows=rows)


def test_the_model_is_closer_to_boards_than_instructions_alone() -> None:
    runs = boards.compare()
    assert len(runs) > 20
    closer = [boards.median(r.errors) < boards.median(r.instructions_alone) for r in runs]
    assert sum(closer) >= 0.8 * len(runs)
