"""The cache of plans keeps within its size."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from trimtab.plan_cache import LoadFacts, PlanCache


def plans(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.plan"))


def test_the_oldest_entries_leave_when_the_cache_is_full(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path / "plans", 5000)
    data = np.zeros(1500, np.uint8)
    for number in range(3):
        cache.store_image(f"{number}", data)
        entry = tmp_path / "plans" / f"{number}.plan"
        os.utime(entry, (1000 + number, 1000 + number))
    os.utime(tmp_path / "plans" / "0.plan")  # used again
    cache.store_image("3", data)
    assert [entry.stem for entry in plans(tmp_path / "plans")] == ["0", "2", "3"]
    assert sum(entry.stat().st_size for entry in plans(tmp_path / "plans")) <= 5000


def test_a_plan_that_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path / "plans", 1000)
    cache.store_image("a", np.zeros(2000, np.uint8))
    assert not plans(tmp_path / "plans")


def test_what_a_broken_writer_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "broken.part").write_bytes(bytes(100))
    os.utime(folder / "broken.part", (1000, 1000))
    (folder / "fresh.part").write_bytes(bytes(100))
    PlanCache(folder, 10_000).store_facts("key", LoadFacts("net", ("x",), ("y",), {}))
    assert sorted(path.name for path in folder.iterdir()) == ["fresh.part", "key.load"]
