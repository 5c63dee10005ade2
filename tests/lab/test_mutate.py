"""Planted bugs: how they are chosen, and how tests judge them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from lab import committed
from lab.dev import rooms as dev_rooms
from lab.mutate import campaign, figures, replay, rooms
from lab.mutate.campaign import Stage
from lab.mutate.figures import CAUGHT, SURVIVED, MutantOutcome
from lab.mutate.mutants import Mutant
from lab.mutate.rooms import Language, SourceRoom
from lab.mutate.workers import Worker, failures
from tests.some import some
from trimtab import paths
from trimtab.errors import UsageError


def test_every_source_of_the_product_is_in_a_room_with_tests() -> None:
    """Python rooms, the engine, its program, bindings and kernels, and the scripts for devices."""
    root = paths.root()
    by_name = rooms.rooms()
    sources = {file for room in by_name.values() for file in room.files(root)}
    files = {
        str(path.relative_to(root))
        for folder, suffixes in (
            ("trimtab", (".py", ".sh")),
            ("bindings", (".cpp", ".h")),
            ("runtime", (".cpp", ".h")),
            *(
                (f"kernels/{name}", (".cpp", ".h"))
                for name in ("generic", "portable", "x86", "arm")
            ),
        )
        for path in (root / folder).rglob("*")
        if path.suffix in suffixes and path.name != "tcg_plugin.h"
    }
    assert files - sources == set()
    for room in by_name.values():
        assert room.mutants(root), room.name
        assert all((root / test).exists() for test in room.tests()) or room.is_cpp, room.name


def test_a_seed_chooses_the_same_bugs_and_another_seed_others() -> None:
    room = rooms.find("results")
    first, again, other = (campaign.select(room, 8, seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first[:8] != other[:8]
    assert len({(one.file, one.line) for one in first}) == len(first) >= 8
    assert len({one.kind for one in first}) > 4
    with pytest.raises(UsageError, match="no room 'kitchen'"):
        rooms.find("kitchen")


def test_the_tests_of_a_module_run_before_those_of_its_room() -> None:
    mutant = Mutant("trimtab/planner/cost.py", "bound", 1, 0, 0, "")
    own, room, compiled = campaign.stages(rooms.find("planner"), mutant)
    assert own.words[0] == compiled.words[0] == "tests/planner/test_cost.py"
    assert room.words[0] == "tests/planner"
    assert compiled.words[2] == "(build or device) and not slow"
    assert dev_rooms.nearest("trimtab/devices/control/sysfs.py") == ["tests/devices/control"]
    onnx = dev_rooms.nearest("trimtab/importers/onnx_ops/resize.py")
    assert "tests/importers/test_onnx_composed.py" in onnx
    assert not any("caffe" in test for test in onnx)
    assert dev_rooms.mirrored("trimtab/cores.py") == ["tests/test_cores.py"]


def test_bugs_of_the_engine_are_judged_by_the_tests_that_run_it() -> None:
    def words(room: str, file: str) -> list[tuple[str, ...]]:
        mutant = Mutant(file, "bound", 1, 0, 0, "")
        return [
            (stage.program,) if stage.program else stage.words
            for stage in campaign.stages(rooms.find(room), mutant)
        ]

    for room, file in (("core", "runtime/core/arena.cpp"), ("ops", "runtime/ops/conv.cpp")):
        first, *_, last = words(room, file)
        assert first == ("check_core",)
        assert {"tests/learning", "tests/importers"} <= set(last)
    assert ("check_kernels",) in words("x86", "kernels/x86/gemm_i8.h")
    assert "tests/build" in words("api", "runtime/api/train.cpp")[-1]
    (program,) = words("app", "runtime/app/main.cpp")
    assert "tests/pipeline" in program
    decoded, _ = words("app", "runtime/app/picture/png.cpp")
    assert decoded[0] == "tests/core/test_pictures.py"
    _, example, *_ = words("api", "runtime/api/boxes.cpp")
    assert example[0] == "tests/examples/test_camera.py"
    timed, *_ = words("bindings", "bindings/kernel_passes/gemm.cpp")
    assert timed[0] == "tests/lab/test_roofline.py"
    (emulated,) = words("arm", "kernels/arm/neon.h")
    assert emulated[0] == "tests/kernels/test_kernels.py"
    assert not rooms.find("arm").is_sanitized


def test_the_tests_nearest_to_sources_of_the_engine_are_there() -> None:
    root = paths.root()
    for source, tests in some(campaign.NEAREST.items()):
        assert list(root.glob(f"{source}*")), source
        assert all((root / one).exists() for one in tests if one.startswith("tests/")), tests


def test_a_bug_of_a_script_is_judged_by_the_tests_that_name_it() -> None:
    file = "trimtab/devices/scripts/lease.sh"
    fast, naming = campaign.stages(rooms.find("scripts"), Mutant(file, "bound", 1, 0, 0, ""))
    assert fast.words[0] == "tests/devices"
    assert "tests/devices/control/test_lease.py" in naming.words
    assert not any("board" in word for word in naming.words)
    assert "tests/devices/control/test_lease.py" in dev_rooms.naming(
        "trimtab/devices/scripts/process_group.sh"
    )
    assert dev_rooms.naming("trimtab/devices/scripts/board_rc.sh") == ["tests/devices/board"]


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A copy of a checkout with one module and its test, which this Python runs."""
    monkeypatch.setattr(paths, "cache", lambda: tmp_path)
    worker = Worker(1)
    worker.python.parent.mkdir(parents=True)
    # Not a link: by that, Python would not find the packages of its environment.
    worker.python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    worker.python.chmod(0o755)
    (worker.root / "module.py").write_text("def least(a, b):\n    return a if a < b else b\n")
    (worker.root / "test_module.py").write_text(
        "from module import least\n\n"
        "def test_least():\n    assert least(1, 2) == least(2, 1) == 1\n"
    )
    return worker


@pytest.mark.parametrize(
    ("old", "new", "outcome", "by"),
    [
        ("<", ">", CAUGHT, "test_module.py::test_least"),
        ("<", "<=", SURVIVED, ""),
        ("a if", "exit() if", CAUGHT, "test_module.py::test_least"),
        ("a if", "__import__('os')._exit(3) if", CAUGHT, "test_module.py::test_least"),
    ],
)
def test_a_bug_is_caught_by_a_failing_test_or_survives_and_is_removed(
    worker: Worker, old: str, new: str, outcome: str, by: str
) -> None:
    source = (worker.root / "module.py").read_text()
    start = source.index(old)
    mutant = Mutant("module.py", "comparison", 2, start, start + len(old), new)
    tests = [Stage(("test_module.py::gone",)), Stage(("test_module.py",))]
    result = campaign.judge(worker, SourceRoom("own", "."), mutant, tests)
    assert result is not None
    assert (result.outcome.outcome, result.outcome.by) == (outcome, by)
    assert (worker.root / "module.py").read_text() == source


def test_a_test_that_fails_once_catches_nothing(worker: Worker) -> None:
    """It may have waited for a program on a busy machine."""
    test = worker.root / "test_module.py"
    test.write_text(
        "import pathlib, pytest\n\n@pytest.mark.parametrize('text', ['of - 2 ] s'])\n"
        "def test_slow(text):\n    mark = pathlib.Path(__file__).with_name('mark')\n"
        "    assert mark.exists() or mark.touch()\n\n" + test.read_text()
    )
    source = (worker.root / "module.py").read_text()
    start = source.index("<")
    room, tests = SourceRoom("own", "."), [Stage(("test_module.py",))]
    for sign, by in (("<=", ""), (">", "test_module.py::test_least")):
        (worker.root / "mark").unlink(missing_ok=True)
        mutant = Mutant("module.py", "bound", 2, start, start + 1, sign)
        result = campaign.judge(worker, room, mutant, tests)
        assert result is not None
        assert result.outcome.by == by
        assert (worker.root / "mark").exists()


def test_the_names_of_failed_tests_are_read_whole(worker: Worker) -> None:
    """Values of a parametrized test are a part of its name, with blanks, dashes and brackets."""
    values = ["a b", "a - b", "x[0] is", "FAILED z"]
    (worker.root / "test_names.py").write_text(
        f"import pytest\n\n@pytest.mark.parametrize('text', {values})\n"
        "def test_text(text):\n    assert text == 'a [b] - c', 'it - is'\n\n"
        "def test_plain():\n    raise ValueError\n\n"
        "@pytest.mark.parametrize('text', ['p q'])\n"
        "def test_error(text, absent):\n    pass\n"
    )
    done = worker.test(["test_names.py", "--maxfail=0"], 300)
    named = {*failures(done.output)}
    texts = {f"test_names.py::test_text[{value}]" for value in values}
    assert named == {*texts, "test_names.py::test_plain", "test_names.py::test_error[p q]"}
    assert worker.failing(sorted(named), sanitized=False) == named
    assert worker.test(["test_names.py", *(f"--deselect={one}" for one in named)], 300).is_empty


def test_a_test_that_fails_without_the_bug_catches_nothing(worker: Worker) -> None:
    test = worker.root / "test_module.py"
    test.write_text("def test_broken():\n    assert False\n\n" + test.read_text())
    source = (worker.root / "module.py").read_text()
    start = source.index("<")
    room, tests = SourceRoom("own", "."), [Stage(("test_module.py",))]
    turned, equal = (
        Mutant("module.py", "bound", 2, start, start + 1, sign) for sign in (">", "<=")
    )
    outcomes = [*campaign.judged([worker], [(room, turned, tests), (room, equal, tests)])]
    assert [one.by for one in outcomes] == ["test_module.py::test_least", ""]


@pytest.mark.parametrize(
    "ends",
    [
        "import os\n\ndef test_ends():\n    os._exit(7)\n\n",  # as a sanitizer does
        "import atexit, os\n\natexit.register(os._exit, 7)\n\n",
    ],
)
def test_a_process_that_ends_in_the_same_way_without_the_bug_catches_nothing(
    worker: Worker, ends: str
) -> None:
    (worker.root / "test_ends.py").write_text(ends + "def test_ends_well():\n    pass\n")
    source = (worker.root / "module.py").read_text()
    start = source.index("<")
    room, tests = SourceRoom("own", "."), [Stage(("test_ends.py",)), Stage(("test_module.py",))]
    turned, equal = (
        Mutant("module.py", "bound", 2, start, start + 1, sign) for sign in (">", "<=")
    )
    outcomes = [*campaign.judged([worker], [(room, turned, tests), (room, equal, tests)])]
    assert [one.by for one in outcomes] == ["test_module.py::test_least", ""]


def test_every_test_that_fails_or_ends_the_process_is_found(worker: Worker) -> None:
    (worker.root / "test_more.py").write_text(
        "import os, pytest\n\n@pytest.mark.parametrize('text', ['a [b] c', 'd'])\n"
        "def test_ends(text):\n    os._exit(1)\n\ndef test_passes():\n    pass\n\n"
        "def test_fails():\n    assert False\n"
    )
    tests = [
        f"test_more.py::test_{name}" for name in ("ends[a [b] c]", "ends[d]", "passes", "fails")
    ]
    assert worker.test(["test_more.py"], 300).failed == tests[0]
    assert worker.failing(tests, sanitized=False) == {tests[0], tests[1], tests[3]}


def test_an_endless_run_is_caught_and_a_change_that_is_no_program_is_none(worker: Worker) -> None:
    endless = Mutant("module.py", "constant", 1, 0, 0, "import time\nwhile True: time.sleep(1)\n")
    result = campaign.judge(
        worker, SourceRoom("own", "."), endless, [Stage(("test_module.py",), limit_s=10)]
    )
    assert result is not None
    assert result.outcome.by == "timeout"
    damaged = Mutant("module.py", "constant", 1, 0, 3, "fed")
    assert campaign.judge(worker, SourceRoom("own", "."), damaged, []) is None
    (worker.root / "script.sh").write_text("if true; then echo; fi\n")
    damaged = Mutant("script.sh", "check", 1, 8, 13, "")
    assert campaign.judge(worker, SourceRoom("own", ".", Language.SHELL), damaged, []) is None


def outcome(**fields: object) -> MutantOutcome:
    """An outcome in the module of this room."""
    values = {
        "room": "modules", "file": "trimtab/accuracy.py", "line": 1, "kind": "bound",
        "before": "", "after": "", "outcome": CAUGHT, "by": "tests/test_accuracy.py::test_one",
        "seconds": 1.0,
    }  # fmt: skip
    return MutantOutcome(**(values | fields))  # type: ignore[arg-type]


def test_an_update_replaces_the_outcomes_of_the_same_mutants_and_drops_those_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "cache", lambda: tmp_path)
    monkeypatch.setattr(committed, "path_of", lambda name: tmp_path / f"{name}.json")
    for one in (
        outcome(room="a", file="a.py", before="gone"),
        outcome(room="b", file="b.py", line=2, before="x"),
        outcome(room="b", file="b.py", line=9, before="y", outcome=SURVIVED, by=""),
        outcome(room="a", file="a.py"),
        outcome(room="b", file="b.py", line=4, before="y"),  # caught now, in a line that moved
    ):
        figures.update([one], lambda row: row.before != "gone")
    rows = [(one.place, one.before, one.outcome) for one in figures.committed_outcomes()]
    assert rows == [("a.py:1", "", CAUGHT), ("b.py:2", "x", CAUGHT), ("b.py:4", "y", CAUGHT)]


def test_all_committed_bugs_of_a_room_are_planted_again_or_only_its_survivors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutants = rooms.find("results").mutants(paths.root())[:2]
    source = {one.file: (paths.root() / one.file).read_text() for one in mutants}
    caught, survived = (
        outcome(
            room="results", file=one.file, line=one.line, outcome=fate,
            before=one.before(source[one.file]), after=one.after(source[one.file]),
        )
        for one, fate in zip(mutants, (CAUGHT, SURVIVED), strict=True)
    )  # fmt: skip
    monkeypatch.setattr(figures, "committed_outcomes", lambda: [caught, survived])
    assert replay.rows(["results"], survivors=False) == [
        (caught, mutants[0]),
        (survived, mutants[1]),
    ]
    assert replay.rows(["results"], survivors=True) == [(survived, mutants[1])]
    assert replay.rows(["planner"], survivors=False) == []


def test_a_sample_has_caught_bugs_whose_line_is_still_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = rooms.find("modules")
    (mutant,) = room.mutants(paths.root())[:1]
    source = (paths.root() / mutant.file).read_text()
    shown = {"before": mutant.before(source), "after": mutant.after(source)}
    rows = [
        outcome(file=mutant.file, line=mutant.line + 40, **shown),
        outcome(file=mutant.file, before="gone", after=shown["after"]),
        outcome(file="trimtab/gone.py", **shown),
        outcome(file=mutant.file, by="timeout", **shown),
        outcome(file=mutant.file, outcome=SURVIVED, by="", **shown),
        outcome(room="ops", file=mutant.file, **shown),
    ]
    monkeypatch.setattr(figures, "committed_outcomes", lambda: rows)
    ((row, again),) = replay.sample(10, "any")
    assert row is rows[0]
    assert again == mutant
    assert [replay.is_there(one) for one in rows] == [True, False, False, True, True, True]


def test_enough_bugs_are_caught_and_each_survivor_is_explained() -> None:
    outcomes = figures.committed_outcomes()
    assert len(outcomes) >= 150
    assert {one.room for one in outcomes} <= set(rooms.rooms())
    assert figures.share(outcomes) >= figures.MINIMUM
    reasons = figures.explanations()
    survivors = [one for one in outcomes if one.outcome == SURVIVED]
    assert [one.place for one in survivors if not figures.reason(one, reasons)] == []
    shown = {(one.file, one.before, one.after) for one in survivors}
    assert reasons.keys() - shown == set(), "an explanation of something that does not survive"
