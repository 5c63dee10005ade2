"""`bench.ab` and `calibrate` as a user types them, up to the call of a compiler."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

from tasks import namespace
from tests.bench.fakes import make_golden, make_subject
from trimtab.bench import archive
from trimtab.build import host_build
from trimtab.cli._command import parse
from trimtab.cli.ab import AbOptions
from trimtab.compare import ab as workflow
from trimtab.compare.ab import AbRequest
from trimtab.compare.arms import Arm, PreparedArm
from trimtab.devices import find_device
from trimtab.devices.control import Control
from trimtab.errors import UsageError

ARM_OPTIONS = (
    *("profile", "toolchain", "cpu", "plan", "prefer", "weights", "precision", "threads"),
)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRIMTAB_STATE_DIR", str(tmp_path / "state"))


def test_every_option_of_an_arm_exists_for_both_arms_and_for_each() -> None:
    flags = {
        flag for task in namespace.to_contexts() if task.name == "bench.ab" for flag in task.flags
    }
    for name in ARM_OPTIONS:
        assert {f"--{name}", f"--a-{name}", f"--b-{name}"} <= flags


def test_tasks_that_measure_have_the_same_control_options_and_pass_them_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"--cores", "--governor", "--max-celsius", "--wait"}
    for task in namespace.to_contexts():
        if task.name in ("bench.run", "bench.ab", "calibrate"):
            assert names <= set(task.flags), task.name
    monkeypatch.setattr(host_build, "build_engine", lambda _: None)
    controls: list[Control] = []

    def take(request: AbRequest, *_: object) -> None:
        controls.append(request.settings.control)
        raise UsageError("enough")

    monkeypatch.setattr(workflow, "compare", take)
    monkeypatch.setattr(workflow, "calibrate", take)
    control: dict[str, Any] = {
        "cores": "little",
        "governor": "keep",
        "max_celsius": 50.0,
        "wait": "7",
    }
    for name, arguments in (("bench.ab", ("a.onnx", "b.onnx")), ("calibrate", ("pi4",))):
        with pytest.raises(Exit, match="enough"):
            namespace[name].body(Context(), *arguments, **control)
    assert controls == [Control("little", "keep", 50.0, 7.0)] * 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"a_threads": 0}, "threads is 0"),
        ({"threads": -2}, "threads is -2"),
        ({"b_threads": 65}, "threads is 65"),
        ({"runs": 0}, "runs is 0"),
        ({"warmup": -3}, "warmup is -3"),
        ({"launches": 0}, "launches is 0"),
        ({"wait": "soon"}, "'soon' is not a number"),
        ({"governor": "a b"}, "is not a governor"),
        ({"timeout": 0.0}, "timeout is 0"),
        ({"seed": -7}, "seed is -7"),
    ],
)
def test_invalid_values_are_refused_before_anything_is_built(
    wrong: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_build, "build_engine", lambda _: None)
    monkeypatch.setattr(workflow, "compare", lambda *_: pytest.fail("too late"))
    with pytest.raises(Exit, match=says):
        namespace["bench.ab"].body(Context(), "a.onnx", "b.onnx", **wrong)


def test_an_option_of_one_arm_has_priority_over_the_one_of_both() -> None:
    values = {"a": "net.onnx", "b": "net.onnx", "input": ["x=1,3"], "cpu": "cortex-a53"}
    more = {"b_cpu": "cortex-a72", "threads": 2, "a_threads": 1}
    a, b = parse(AbOptions, {**values, **more}).arms()
    assert (a.recipe.cpu, b.recipe.cpu) == ("cortex-a53", "cortex-a72")
    assert (a.threads, b.threads) == (1, 2)
    assert (a.overrides, b.overrides) == (("cpu",), ("b-cpu", "cpu"))
    assert b.recipe.shapes == {"x": (1, 3)}


def test_a_build_option_cannot_change_an_arm_that_is_already_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_build, "build_engine", lambda _: None)
    (tmp_path / "built").mkdir()
    arms = "squeezenet", str(tmp_path / "built")
    with pytest.raises(Exit, match="built already: --cpu cannot change it") as caught:
        namespace["bench.ab"].body(Context(), *arms, cpu="cortex-a53")
    assert "--b-OPTION" in str(caught.value)


def test_two_runs_are_repeated_and_compared_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_build, "build_engine", lambda _: None)
    one = make_subject(tmp_path)
    golden = make_golden()
    subject = archive.store(one, golden, tmp_path / "cache" / "kept")
    request = AbRequest(Arm("x"), Arm("x"), launches=4)
    folder = tmp_path / "results"
    with find_device("local").open() as device:
        pair = [PreparedArm(subject, golden, 1)] * 2
        compared = workflow.measure(device, pair, request, folder, None)
    ids = [record.header.run_id for record in (compared.a, compared.b)]
    namespace["bench.ab"].body(
        Context(), *ids, results=str(folder), launches=4, min_time_ms=0, json=True
    )
    result = json.loads(capsys.readouterr().out)
    low, high = result["interval"]
    assert low <= result["ratio"] <= high
    assert result["is_real"] is False
    assert Path(result["record"]).is_file()
    with pytest.raises(Exit, match="--b-cpu cannot change it"):
        namespace["bench.ab"].body(Context(), *ids, results=str(folder), b_cpu="cortex-a53")


def test_an_emulated_device_has_no_noise_floor(tmp_path: Path) -> None:
    one = PreparedArm(make_subject(tmp_path), make_golden(), 1)
    request = AbRequest(Arm("x"), Arm("x"))
    with find_device("local").open() as device:

        class Emulated:
            name = "qemu"

            def describe(self) -> object:
                return dataclasses.replace(device.describe(), is_emulated=True)

        with pytest.raises(Exception, match="exact and have no noise floor"):
            workflow.measure_floor(Emulated(), one, request, tmp_path)  # type: ignore[arg-type]
