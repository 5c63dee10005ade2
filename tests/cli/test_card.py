"""`card` as a user types it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest
from onnx import TensorProto, helper

import trimtab
from tests.bench.fakes import write_record
from trimtab.bench.protocol import RunOutcome
from trimtab.cli._options import CalibrationOptions, PrecisionOptions
from trimtab.cli.card import CardOptions, card
from trimtab.errors import DeviceError, ResultError, RunnerCrashedError, UsageError
from trimtab.pipeline import card as pipeline_card
from trimtab.pipeline.recipe import Recipe
from trimtab.progress import Progress
from trimtab.results.records import Status

SAMPLES = PrecisionOptions(
    samples=CalibrationOptions(calibration="pictures"), budget="top1 >= 99 %"
)


def model(folder: Path) -> Path:
    """A network of one ReLU."""
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", ends[:1], ends[1:])
    opset = [helper.make_opsetid("", 17)]
    path = folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def test_every_network_is_measured_on_every_device_in_every_precision() -> None:
    options = CardOptions(model=("a.onnx", "b.onnx"), device=("pi4", "local"), threads=2)
    recipes = [*options.recipes()]
    names = [
        (recipe.model, recipe.measurement.device, recipe.plan.precision)
        for recipe in recipes
        if recipe.measurement
    ]
    assert names == [
        (network, device, precision)
        for network in ("a.onnx", "b.onnx")
        for device in ("pi4", "local")
        for precision in ("f32", "f16", "int8")
    ]
    last = recipes[-1]
    assert last.plan.precision == "int8"
    assert last.threads == 2


def test_stored_weights_have_rows_in_the_precisions_that_have_a_choice() -> None:
    options = CardOptions(
        model=("a.onnx",), weights=("f32", "bits4", "auto"), prefer="size", samples=SAMPLES
    )
    plans = [(recipe.plan, recipe.calibration) for recipe in options.recipes()]
    assert [
        (plan.precision, plan.weights_type, data.samples, data.budget) for plan, data in plans
    ] == [
        ("f32", "f32", "", ""),
        ("f32", "bits4", "pictures", ""),
        ("f32", "auto", "pictures", "top1 >= 99 %"),
        ("f16", "f32", "pictures", ""),
        ("f16", "bits4", "pictures", ""),
        ("f16", "auto", "pictures", "top1 >= 99 %"),
        ("int8", "f32", "pictures", ""),
    ]
    assert {plan.prefer for plan, _ in plans} == {"size"}


def test_options_are_checked_before_any_measurement() -> None:
    with pytest.raises(UsageError, match="precision"):
        CardOptions(model=("squeezenet",), precision=("f8",)).validate()
    with pytest.raises(DeviceError, match="unknown device 'nowhere'"):
        CardOptions(model=("squeezenet",), device=("nowhere",)).validate()
    with pytest.raises(ResultError, match="cannot be written"):
        CardOptions(model=("squeezenet",), output="/proc/x/card.md").validate()


def test_the_suffix_of_the_file_chooses_the_form() -> None:
    card = CardOptions(model=("squeezenet",), output="a/card.HTML")
    assert card.form() == "html"
    assert CardOptions(output="card.html", format="json").form() == "json"
    assert CardOptions(output="card").form() == "terminal"
    with pytest.raises(UsageError, match=r"no format has the suffix \.pdf"):
        CardOptions(output="card.pdf").form()


def test_a_precision_that_fails_does_not_end_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bench(recipe: Recipe, progress: Progress) -> SimpleNamespace:
        precision = recipe.plan.precision
        if precision == "int8":
            raise UsageError("samples are missing", hint="--calibration")
        status = Status.OK if precision == "f32" else Status.CRASHED
        error = None if precision == "f32" else RunnerCrashedError("killed by signal 11")
        path = write_record(tmp_path, status=status)
        program = trimtab.load(str(model(tmp_path)))
        loaded = SimpleNamespace(bare=program, network=SimpleNamespace(program=program))
        built = SimpleNamespace(planned=SimpleNamespace(loaded=loaded))
        return SimpleNamespace(outcome=RunOutcome(path, error), built=built)

    monkeypatch.setattr(pipeline_card, "bench", bench)
    run = inspect.unwrap(card.body)  # without the check of this checkout's engine
    page = tmp_path / "card.md"
    run(CardOptions(model=("net.onnx",), device=("pi4",), format="markdown", output=str(page)))
    text = page.read_text()
    assert "# net on pi4" in text
    assert "100 µs" in text
    assert "not measured: killed by signal 11" in text
    assert "not measured: samples are missing" in text
    assert "written" in capsys.readouterr().out
    with pytest.raises(DeviceError, match="samples are missing"):
        run(CardOptions(model=("net.onnx",), precision=("int8",)))
    with pytest.raises(UsageError, match="which"):
        CardOptions().validate()


@pytest.mark.build
def test_a_card_of_this_machine_has_the_reason_of_what_it_lacks(tmp_path: Path) -> None:
    words = ["card", "--model", str(model(tmp_path)), "--format=json", f"--results={tmp_path}"]
    words += ["--precision=f32", "--precision=int8", "--launches=1", "--min-time-ms=1"]
    done = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    f32, int8 = json.loads(done.stdout)["entries"]
    assert f32["p50_ns"] > 0
    assert f32["cpu_ns"] > 0
    assert f32["shipped_bytes"] == f32["binary_bytes"] + f32["model_bytes"]
    assert Path(f32["record"]).stat().st_size > 0
    assert int8["reason"] == "samples are missing"
