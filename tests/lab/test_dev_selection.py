"""The tests that a change may break."""

from __future__ import annotations

import pytest

from lab.dev import rooms, selection, shell
from tests.some import some
from trimtab.errors import UsageError

FAST = ("-m", "not build and not device and not slow")


def test_every_room_has_tests() -> None:
    for name in some(rooms.rooms()):
        for path in some(selection.of_room(name).tests):
            assert (shell.ROOT / path).exists(), name
    with pytest.raises(UsageError, match="there is no room 'kitchen'"):
        selection.of_room("kitchen")


def test_a_pass_is_judged_by_its_tests_then_by_its_room_and_those_that_import_it() -> None:
    near, same_room, far = selection.of_files(["trimtab/passes/fuse_pad.py"])
    assert near.tests == ("tests/passes/test_fuse_pad.py",)
    assert near.arguments == ("-m", "not slow")
    assert same_room.tests == ("tests/passes",)
    assert same_room.arguments == ("--every=4", *FAST)
    assert {"tests/quantization", "tests/exporters"} <= set(far.tests)
    assert not {"tests/devices", "tests/passes"} & set(far.tests)
    assert far.arguments == ("--every=12", *FAST)


def test_an_operator_is_judged_by_the_tests_that_name_it_and_by_a_sample_of_the_engine_s() -> None:
    named, sample = selection.of_files(["runtime/ops/gather.cpp", "runtime/ops/gather.toml"])
    assert named.tests == sample.tests == ("tests/engine", "tests/ops")
    assert named.arguments == ("-k", "gather", *FAST)
    assert sample.arguments[0].startswith("--every=")


def test_a_kernel_is_judged_by_the_vectors_of_all_kernels_and_a_sample_of_the_engine_s() -> None:
    near, sample = selection.of_files(["kernels/arm/gemm_f32_4x16_neon.cpp"])
    assert near.tests == ("tests/kernels",)
    assert sample.tests == ("tests/engine", "tests/ops")


def test_a_test_judges_itself_and_what_tests_use_is_judged_by_those_beside_it() -> None:
    (run,) = selection.of_files(["tests/passes/test_fuse_pad.py"])
    assert run.tests == ("tests/passes/test_fuse_pad.py",)
    (run,) = selection.of_files(["tests/ops/oracle.py"])
    assert run.tests == ("tests/ops",)
    assert selection.of_files(["tests/gone/test_it.py", "README.md"]) == []


def test_an_experiment_is_judged_by_its_test() -> None:
    near, far = selection.of_files(["lab/dev/words.py"])
    assert near.tests == ("tests/lab/test_dev_words.py",)
    assert far.tests == ("tests/lab",)


def test_changes_are_those_since_a_commit() -> None:
    assert all((shell.ROOT / path).parent for path in selection.changed("HEAD"))
    with pytest.raises(UsageError, match="git knows no commit 'nowhere'"):
        selection.changed("nowhere")
