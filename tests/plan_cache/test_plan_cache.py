"""The cache of plans: when it is used, and when not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.plan_cache.small_network import X, entries, image, network
from trimtab import cores, paths, plan_cache
from trimtab.errors import UsageError
from trimtab.target import Target

# A start in a new process: prints whether it needed the planner, and the sum of the outputs.
START = """
import sys, numpy, trimtab
session = trimtab.Session(trimtab.load(sys.argv[1]))
x = numpy.random.default_rng(3).standard_normal((1, 3, 12, 12)).astype(numpy.float32)
(y,) = session.run(x).values()
print("trimtab.planner.planner" in sys.modules, "onnx" in sys.modules, float(y.sum()))
"""


def test_the_second_session_takes_the_plan_of_the_first(
    model: Path, folder: Path, plans: list[int]
) -> None:
    first = trimtab.Session(trimtab.load(model))
    second = trimtab.Session(trimtab.load(model))
    assert len(plans) == 1
    assert len(entries(folder)) == 1
    assert image(first) == image(second)
    assert first.run(X)["y"].tobytes() == second.run(X)["y"].tobytes()
    assert repr(first) == repr(second)


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet_v2", "yolo_fastest"])
def test_a_plan_from_the_cache_is_that_of_the_planner(name: str, folder: Path) -> None:
    without = trimtab.Session(trimtab.load(name, cache=False), cache=False)
    assert not folder.exists()
    for _ in range(2):
        assert image(trimtab.Session(trimtab.load(name))) == image(without)
    assert entries(folder)


def test_another_process_needs_no_planner_and_no_importer(model: Path, folder: Path) -> None:
    def start() -> list[str]:
        argv = [sys.executable, "-c", START, str(model)]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()

    first, second = start(), start()
    assert first[:2] == ["True", "True"]
    assert second[:2] == ["False", "False"]
    assert first[2] == second[2]


@pytest.mark.parametrize(
    "session",
    [
        lambda model: trimtab.Session(trimtab.load(model), threads=2),
        lambda model: trimtab.Session(trimtab.load(model), plan=trimtab.Plan(prefer="size")),
        lambda model: trimtab.Session(
            trimtab.load(model), plan=trimtab.Plan(algorithms=("direct",))
        ),
        lambda model: trimtab.Session(trimtab.load(model, outputs=["relu_5"])),
    ],
)
def test_other_options_have_a_plan_of_their_own(
    model: Path, folder: Path, plans: list[int], session: Callable[[Path], trimtab.Session]
) -> None:
    trimtab.Session(trimtab.load(model))
    other = session(model)
    assert len(plans) == 2
    assert image(session(model)) == image(other)
    assert len(plans) == 2
    assert len(entries(folder)) == 2


def test_other_content_under_the_same_name_is_another_model(
    model: Path, folder: Path, plans: list[int]
) -> None:
    before = trimtab.Session(trimtab.load(model)).run(X)["y"]
    content = network(seed=1)
    assert len(content) == model.stat().st_size
    model.write_bytes(content)
    after = trimtab.Session(trimtab.load(model)).run(X)["y"]
    assert len(plans) == 2
    assert not np.array_equal(before, after)


def test_a_changed_file_with_an_old_date_is_another_model(
    model: Path, folder: Path, plans: list[int]
) -> None:
    old = 1_600_000_000
    os.utime(model, (old, old))
    trimtab.Session(trimtab.load(model))
    model.write_bytes(network(seed=1))
    os.utime(model, (old, old))
    trimtab.Session(trimtab.load(model))
    assert len(plans) == 2


def test_another_instruction_set_has_a_plan_of_its_own(
    model: Path, folder: Path, plans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    trimtab.Session(trimtab.load(model))
    monkeypatch.setenv("TRIMTAB_ISA", "portable")
    session = trimtab.Session(trimtab.load(model))
    assert len(plans) == 2
    assert "portable" in session.program.target


def test_another_trimtab_has_a_plan_of_its_own(
    model: Path, folder: Path, plans: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimtab.Session(trimtab.load(model))
    source = tmp_path / "planner.py"
    source.write_text("")
    signature = plan_cache.signature_of(str(source), source.stat())
    original = plan_cache.package_signature()
    monkeypatch.setattr(plan_cache, "package_signature", lambda: (*original, signature))
    trimtab.Session(trimtab.load(model))
    assert len(plans) == 2


def test_the_digest_of_trimtab_covers_its_code_its_tables_and_its_engine() -> None:
    files = [Path(file[0]) for file in plan_cache.package_signature()]
    names = {path.name for path in files}
    assert {"planner.py", "winograd.py", "onnx.py", "code_bytes.toml", "isa.toml"} <= names
    assert {"conv.toml", "zen4.toml", "version.py"} <= names
    assert any(path.name.startswith("_engine") for path in files)


def test_the_place_of_the_installation_is_not_in_the_digest_of_trimtab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for place, content in (("a", "x"), ("b/trimtab", "x"), ("b/trimtab", "y")):
        root = tmp_path / place
        (root / "trimtab").mkdir(parents=True, exist_ok=True)
        (root / "trimtab" / "planner.py").write_text(content)
        monkeypatch.setattr(paths, "package", lambda own=root: own / "trimtab")
        monkeypatch.setattr(paths, "root", lambda own=root: own)
        digests.append(plan_cache.content_digest_of([root / "trimtab" / "planner.py"]))
    assert digests[0] == digests[1] != digests[2]


def test_another_core_that_stands_for_the_memory_has_a_plan_of_its_own(
    model: Path, folder: Path, plans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    trimtab.Session(trimtab.load(model))
    other = cores.find("cortex-a53")
    monkeypatch.setattr(Target, "bandwidth_core", property(lambda _: other))
    trimtab.Session(trimtab.load(model))
    assert len(plans) == 2


def damage_first(content: bytearray) -> None:
    content[0] ^= 1


def damage_tables(content: bytearray) -> None:
    content[300] ^= 1


def damage_last_weight(content: bytearray) -> None:
    content[-70] ^= 1


def truncate(content: bytearray) -> None:
    del content[-64:]


def empty(content: bytearray) -> None:
    content.clear()


@pytest.mark.parametrize(
    "damage", [damage_first, damage_tables, damage_last_weight, truncate, empty]
)
def test_a_damaged_plan_is_made_again(
    model: Path, folder: Path, plans: list[int], damage: Callable[[bytearray], None]
) -> None:
    first = image(trimtab.Session(trimtab.load(model)))
    (entry,) = entries(folder)
    sound = entry.read_bytes()
    content = bytearray(sound)
    damage(content)
    entry.write_bytes(content)
    assert image(trimtab.Session(trimtab.load(model))) == first
    assert len(plans) == 2
    assert entry.read_bytes() == sound


def test_the_plan_of_another_program_is_not_taken(
    tmp_path: Path, model: Path, folder: Path, plans: list[int]
) -> None:
    first = image(trimtab.Session(trimtab.load(model)))
    (entry,) = entries(folder)
    other = tmp_path / "other.onnx"
    other.write_bytes(network(seed=1))
    trimtab.Session(trimtab.load(other))
    (other_entry,) = {*entries(folder)} - {entry}
    entry.write_bytes(other_entry.read_bytes())
    assert image(trimtab.Session(trimtab.load(model))) == first
    assert len(plans) == 3


@pytest.mark.parametrize("content", [b"", b"{}", b'{"digest": "0", "facts": {"name": "x"}}'])
@pytest.mark.parametrize("suffix", [".load", ".content"])
def test_damaged_facts_are_found_again(
    model: Path, folder: Path, content: bytes, suffix: str
) -> None:
    first = trimtab.load(model)
    # As if the file had been there for long, so that its hash is kept.
    for entry in entries(folder, suffix):
        entry.write_bytes(content)
    second = trimtab.load(model)
    assert (second.name, second.inputs, second.outputs) == (
        *(first.name, first.inputs, first.outputs),
    )
    assert [op.type for op in second.ops] == [op.type for op in first.ops]


def test_processes_may_write_at_the_same_time(tmp_path: Path, folder: Path) -> None:
    models = []
    for seed in range(2):
        models.append(tmp_path / f"net{seed}.onnx")
        models[-1].write_bytes(network(seed))
    argv = [sys.executable, "-c", START]
    started = [
        subprocess.Popen([*argv, str(path)], stdout=subprocess.PIPE, text=True)
        for path in (*models, *models, *models)
    ]
    sums = [process.communicate()[0].split()[2] for process in started]
    assert all(process.returncode == 0 for process in started)
    assert sums == [*sums[:2], *sums[:2], *sums[:2]]
    assert len(entries(folder)) == 2
    assert {path.suffix for path in folder.iterdir()} <= {".plan", ".load", ".content"}
    for path in models:
        assert subprocess.check_output([*argv, str(path)], text=True).startswith("False False")


@pytest.mark.parametrize("is_by_variable", [True, False])
def test_the_cache_can_be_switched_off(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_by_variable: bool
) -> None:
    if is_by_variable:
        monkeypatch.setenv(plan_cache.VARIABLE, "0")
    for _ in range(2):
        program = trimtab.load(model, cache=is_by_variable)
        assert not program.origin
        trimtab.Session(program, cache=is_by_variable)
        trimtab.Session(model, cache=is_by_variable)
    assert not folder.exists()


def test_a_session_without_cache_keeps_no_plan(model: Path, folder: Path) -> None:
    trimtab.Session(trimtab.load(model), cache=False)
    assert not entries(folder)


def test_the_size_is_a_number(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plan_cache.VARIABLE, "much")
    with pytest.raises(UsageError, match="'much' is not a number of megabytes") as error:
        trimtab.load(model)
    assert plan_cache.VARIABLE in error.value.where


def test_a_cache_that_cannot_be_written_is_as_good_as_none(
    model: Path, folder: Path, plans: list[int]
) -> None:
    folder.parent.mkdir()
    folder.write_text("a file, where the folder should be")
    for _ in range(2):
        trimtab.Session(trimtab.load(model))
    assert len(plans) == 2


OLD = ("/models/net.onnx", 1, 2, 3, 4, 5)
"""A file that changed long ago."""


def test_a_hash_is_kept_only_if_no_file_may_change_within_the_clock(tmp_path: Path) -> None:
    cache, computed = plan_cache.PlanCache(tmp_path, 1 << 30), []

    def compute() -> str:
        computed.append(True)
        return "c" * 64

    new = (OLD, ("/models/net.data", 1, 2, 3, 4, time.time_ns()))
    for signature, times in ((new, 2), ((OLD,), 1)):
        computed.clear()
        for _ in range(2):
            assert cache.content_digest(signature, compute) == "c" * 64
        assert len(computed) == times
