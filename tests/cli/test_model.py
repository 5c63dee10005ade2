"""What `inspect` and `profile` show of a network in another precision, and of its accuracy."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from invoke.context import Context

import trimtab
from tests.engine.test_quantize import SAMPLES, network
from tests.pipeline.test_precision import A76, LARGER_SAMPLES, independent, larger
from tests.recorded_progress import RecordedProgress
from trimtab import quantization
from trimtab.cli import namespace
from trimtab.errors import ModelFileError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.precision import convert
from trimtab.planner.plan_file import Plan


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return network(tmp_path_factory.mktemp("net") / "net.onnx")


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("samples") / "s.npz"
    np.savez(path, x=SAMPLES)
    return {"precision": "int8", "calibration": str(path)}


def inspected(source: Path, capsys: pytest.CaptureFixture[str], **given: Any) -> str:
    namespace["inspect"](Context(), model=str(source), input=[], **given)
    return capsys.readouterr().out


def test_a_network_is_shown_in_the_precision_that_is_asked_for(
    source: Path, int8: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    plain = json.loads(inspected(source, capsys, json=True))
    assert {*plain} == {"program"}
    shown = json.loads(inspected(source, capsys, json=True, **int8))
    kernels = [op["kernel"] for op in shown["program"]["ops"]]
    assert any("_i8_" in kernel for kernel in kernels)
    assert shown["program"]["quantized"]
    both = json.loads(inspected(source, capsys, json=True, optimized=True, **int8))
    assert both["program"] == plain["program"]
    assert both["optimized"] == shown["program"]


def test_f16_is_shown_as_it_is_planned(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = {"toolchain": "aarch64-linux-musl", "cpu": "cortex-a76"}
    shown = inspected(source, capsys, precision="f16", **target)
    assert shown.startswith("Accuracy")
    assert "of seeded noise" in shown
    assert "planned for aarch64 cortex-a76" in shown


@pytest.mark.parametrize("form", [{}, {"optimized": True}, {"plan": True}, {"json": True}], ids=str)
def test_all_forms_tell_the_accuracy(
    form: dict[str, bool], source: Path, int8: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked, given = Plan(precision="int8"), Calibration(int8["calibration"])
    made = convert(trimtab.load(source), asked, given, A76)
    error, noise = independent(trimtab.load(source), made)
    shown = inspected(source, capsys, **form, **int8)
    if form.get("json"):
        told = json.loads(shown)["accuracy"]
        assert (told["max_error"], told["noise"]) == pytest.approx((error, noise))
    else:
        assert f"{error:.2%}" in shown
        assert f"{noise:.4%}" in shown
    if form.get("plan"):
        assert tomllib.loads(shown)["precision"] == "int8"


def test_a_profile_tells_the_accuracy_and_is_one_all_the_same(
    source: Path, int8: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"model": [str(source)], "input": [], **int8}
    namespace["profile"](Context(), **words)
    printed = capsys.readouterr().out
    namespace["profile"](Context(), output=str(tmp_path / "p.toml"), **words)
    said = capsys.readouterr().out
    assert "cosine: 0.9" in printed
    assert "cosine: 0.9" in said
    kept = tomllib.loads((tmp_path / "p.toml").read_text())
    assert tomllib.loads(printed) == kept
    assert "i8" in kept["dtypes"]


def test_f16_tells_its_accuracy_on_seeded_noise_where_there_are_no_samples() -> None:
    made = convert(larger(), Plan(precision="f16"), Calibration(), A76)
    assert made.accuracy
    assert made.accuracy.is_seeded
    assert made.accuracy.rows()[0][1] == f"{made.accuracy.samples} of seeded noise"
    assert 0 < made.accuracy.max_error < 0.01


def test_accuracy_of_data_is_not_called_seeded(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=LARGER_SAMPLES)
    given = Calibration(str(tmp_path / "s.npz"))
    made = convert(larger(), Plan(precision="f16"), given, A76)
    assert made.accuracy
    assert not made.accuracy.is_seeded
    assert made.accuracy.rows()[0][1] == str(made.accuracy.samples)


def test_a_network_that_noise_cannot_be_computed_of_is_built_without_a_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise ModelFileError("an index is out of range")

    monkeypatch.setattr(quantization, "compare", refused)
    said = RecordedProgress()
    made = convert(larger(), Plan(precision="f16"), Calibration(), A76, said)
    assert made.accuracy is None
    assert "the accuracy of f16 is unknown: an index is out of range" in said.lines
