"""`inspect` and `profile` of networks in other precisions."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from invoke.context import Context

import trimtab
from tests.pipeline.test_precision import A76, independent
from tests.quantization.test_quantization import SAMPLES, network
from trimtab.cli import namespace
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


def inspected(source: Path, capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    namespace["inspect"](Context(), model=[str(source)], **options)
    return capsys.readouterr().out


def test_a_network_is_shown_in_the_requested_precision(
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


def test_f16_is_shown_as_planned(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = {"toolchain": "aarch64-linux-musl", "cpu": "cortex-a76"}
    shown = inspected(source, capsys, precision="f16", **target)
    assert shown.startswith("Accuracy")
    assert "of seeded noise" in shown
    assert "planned for aarch64 cortex-a76" in shown


@pytest.mark.parametrize("form", [{}, {"optimized": True}, {"plan": True}, {"json": True}], ids=str)
def test_all_forms_show_the_accuracy(
    form: dict[str, bool], source: Path, int8: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    calibration = Calibration(int8["calibration"])
    converted = convert(trimtab.load(source), Plan(precision="int8"), calibration, A76)
    error, noise = independent(trimtab.load(source), converted)
    shown = inspected(source, capsys, **form, **int8)
    if form.get("json"):
        accuracy = json.loads(shown)["accuracy"]
        assert (accuracy["max_error"], accuracy["noise"]) == pytest.approx((error, noise))
    else:
        assert f"{error:.2%}" in shown
        assert f"{noise:.4%}" in shown
    if form.get("plan"):
        assert tomllib.loads(shown)["precision"] == "int8"


def test_a_profile_has_the_accuracy_as_comments_and_is_valid_toml(
    source: Path, int8: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"model": [str(source)], **int8}
    namespace["profile"](Context(), **options)
    printed = capsys.readouterr().out
    namespace["profile"](Context(), output=str(tmp_path / "p.toml"), **options)
    summary = capsys.readouterr().out
    assert "cosine: 0.9" in printed
    assert "cosine: 0.9" in summary
    written = tomllib.loads((tmp_path / "p.toml").read_text())
    assert tomllib.loads(printed) == written
    assert "i8" in written["dtypes"]
