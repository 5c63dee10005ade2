"""The file of timings: what it keeps, and how files are merged."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from trimtab.errors import ResultError
from trimtab.tuning.timings import Key, Timings

RULE = Key("zen4", 1, "ns", "resident", "layer1", "code1")
OTHER = dataclasses.replace(RULE, code="code2")


def filled(path: Path | None, blocks: range, ratio: float = 0.8) -> Timings:
    timings = Timings(path)
    for i in blocks:
        level = 1000.0 + 100 * i
        rows = [(RULE, "conv", "direct", level), (OTHER, "conv", "winograd", ratio * level)]
        timings.add(f"block{i}", rows)
    return timings


def test_decisions_are_compared_over_their_common_blocks() -> None:
    timings = filled(None, range(6))
    timings.add("alone", [(OTHER, "conv", "winograd", 9e9)])
    effect = timings.effect(RULE, OTHER)
    assert effect is not None
    assert effect.value == pytest.approx(0.8)
    assert effect.blocks == 6
    assert timings.effect(RULE, dataclasses.replace(OTHER, threads=2)) is None


def test_one_block_of_times_gives_no_interval_and_one_of_counts_suffices() -> None:
    assert filled(None, range(1)).effect(RULE, OTHER) is None
    counts = [dataclasses.replace(key, unit="instructions") for key in (RULE, OTHER)]
    timings = Timings()
    timings.add("a", [(counts[0], "", "", 200.0), (counts[1], "", "", 150.0)])
    effect = timings.effect(*counts)
    assert effect is not None
    assert (effect.value, effect.interval.low, effect.interval.high) == (0.75, 0.75, 0.75)


def test_every_block_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    for count in (1, 3):
        filled(path, range(count))
        assert len(Timings(path).blocks(RULE)) == count


def test_files_of_two_branches_merge_by_concatenation_in_any_order(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("ours.jsonl", "theirs.jsonl")]
    filled(paths[0], range(4)), filled(paths[1], range(2, 7))
    texts = [path.read_text() for path in paths]
    results = []
    for first, second in (texts, texts[::-1]):
        merged = tmp_path / "merged.jsonl"
        merged.write_text(first + second)
        timings = Timings(merged)
        assert timings.blocks(RULE).keys() == {f"block{i}" for i in range(7)}
        timings.compact()
        results.append(merged.read_text())
        assert len(results[-1].splitlines()) == 2, "one line per key"
        assert Timings(merged).effect(RULE, OTHER) == timings.effect(RULE, OTHER)
    assert results[0] == results[1]
    joined = Timings(paths[0])
    joined.merge(paths[1])
    assert joined.blocks(OTHER) == Timings(tmp_path / "merged.jsonl").blocks(OTHER)


def test_a_line_that_was_cut_off_is_ignored_and_later_ones_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    filled(path, range(2))
    path.write_text(path.read_text() + '{"format": 1, "core": "ze')
    filled(path, range(2, 3))
    assert len(Timings(path).blocks(RULE)) == 3


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "line 1 is not a timing"),
        ("{}", "'format'"),
        ('{"format": 9}', "format 9"),
        ("[]", "line 1 is not a timing"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "timings.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ResultError, match=says) as error:
        Timings(path)
    assert error.value.where == str(path)


def test_times_that_are_no_times_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    filled(path, range(1))
    path.write_text(path.read_text().replace("1000.0", "-3"))
    with pytest.raises(ResultError, match="not positive"):
        Timings(path)
