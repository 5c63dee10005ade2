"""Peers on a device: this machine with its own onnxruntime, beside a runner that is a script."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from lab.peers import converted, on_device, report, wheels, worker
from lab.peers.named_runner import NamedRunner
from lab.peers.on_device import Scope
from lab.peers.wheels import DevicePython
from tests.bench.fakes import make_golden, make_subject
from tests.recorded_progress import RecordedProgress
from trimtab import tables
from trimtab.errors import DeviceError, MissingRequirementError, ModelFileError, RunnerError
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.results import peer_figures


@pytest.fixture(name="model")
def doubling(tmp_path: Path) -> Path:
    """y = x + x, which the script computes, too."""
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8]) for n in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "net", ends[:1], ends[1:]
    )
    path = tmp_path / "net.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


@pytest.fixture(autouse=True)
def network(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is not compiled, and wheels that are empty: packages are installed here."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))

    def build(room: object, recipe: Recipe, progress: object) -> SimpleNamespace:
        source = SimpleNamespace(inputs=["x"])
        loaded = SimpleNamespace(path=model, source=source)
        return SimpleNamespace(recipe=recipe, planned=SimpleNamespace(loaded=loaded, stem="net"))

    def download(package: str, python: DevicePython, cache: Path) -> Path:
        if package in ("ncnn", "openvino", "MNN"):
            raise MissingRequirementError(f"PyPI has no wheel of {package}", hint="--runner")
        path = tmp_path / f"{package.replace('-', '_')}-1.2.3-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("empty.txt", package)
        return path

    monkeypatch.setattr(on_device, "ready_device", lambda *_, **__: None)
    monkeypatch.setattr(on_device, "build_for", build)
    monkeypatch.setattr(on_device, "archived", lambda *_: (make_subject(tmp_path), make_golden()))
    monkeypatch.setattr(wheels, "download", download)


def measured(
    model: Path, tmp_path: Path, runner: str = ""
) -> tuple[list[peer_figures.PeerFigure], list[str]]:
    recipe = Recipe(model=str(model), measurement=MeasurementRequest("local"))
    runners = [NamedRunner.parse(runner)] if runner else []
    scope = Scope("local", [recipe], 2, "f32", sys.executable, runners)
    return on_device.compare(scope, tmp_path / "peers", RecordedProgress())


def test_engines_run_on_the_device_in_rounds_and_others_have_a_reason(
    model: Path, tmp_path: Path
) -> None:
    script = tmp_path / "mine"
    script.write_text('#!/bin/sh\n[ "$1 $2" = "1 5" ] && printf "1600\\n1602\\n1604\\n"\n')
    script.chmod(0o755)
    figures, left_out = measured(model, tmp_path, f"mine={script}:{model}")
    mine, ort, cv = figures
    assert (mine.engine, mine.device, mine.network) == ("mine", "local", "net")
    assert (mine.p50_ns, mine.trimtab_ns) == (1602, 801)
    assert mine.ratio == 0.5
    assert (mine.cpu_ns, mine.waiting_cores) == (None, None)  # it prints times alone
    assert ort.engine == "onnxruntime 1.2.3"
    assert ort.p50_ns is not None
    assert ort.p50_ns > 0
    assert ort.cpu_ns is not None
    assert ort.cpu_ns > ort.p50_ns / 2
    assert ort.waiting_cores is not None
    assert ort.waiting_cores < 0.5  # it has one thread, which does not spin
    assert cv.engine == "opencv-python-headless 1.2.3"
    *absent, litert, executorch = left_out
    assert absent == [f"PyPI has no wheel of {name}" for name in ("openvino", "ncnn", "MNN")]
    assert litert == "litert: it reads .tflite files; --onnx2tf names a converter"
    assert executorch.startswith("executorch: it reads .pte files, which torch writes")
    text = tables.text(report.device_page(figures, left_out))
    assert "not measured: PyPI has no wheel of ncnn" in text
    assert "0.50" in text


def test_an_engine_that_spins_between_frames_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    job = worker.PeerJob(tmp_path / "net.onnx", tmp_path, 1, {}, [], "")
    job.model.touch()

    def waiting_cores(create: Callable[..., worker.Run]) -> float:
        answers = io.StringIO()
        engine = worker.EngineAdapter(("it",), (), create)
        worker.serve(engine, job, io.StringIO("2\n"), answers)
        return float(json.loads(answers.getvalue().splitlines()[-1])["waiting_cores"])

    end = threading.Event()

    def spin() -> None:
        while not end.is_set():
            pass

    def spinning(_: worker.PeerJob) -> worker.Run:
        threading.Thread(target=spin, daemon=True).start()
        return list

    quiet = waiting_cores(lambda _: list)
    try:
        assert waiting_cores(spinning) > 5 * quiet  # also beside other programs
    finally:
        end.set()


def test_an_engine_that_fails_or_is_wrong_is_left_out(model: Path, tmp_path: Path) -> None:
    graph = onnx.load(model)
    graph.graph.node[0].op_type = "Mul"
    onnx.save(graph, model)
    figures, left_out = measured(model, tmp_path, f"broken={sys.executable}:{model}")
    assert figures == []
    assert any(text.startswith("onnxruntime 1.2.3 on net: output y") for text in left_out)
    assert any(text.startswith("broken on net") for text in left_out)


def test_a_device_without_python_says_what_to_name(model: Path, tmp_path: Path) -> None:
    recipe = Recipe(model=str(model), measurement=MeasurementRequest("local"))
    scope = Scope("local", [recipe], 1, "f32", "/bin/true")
    with pytest.raises(DeviceError, match="/bin/true does not run") as caught:
        on_device.compare(scope, tmp_path, RecordedProgress())
    assert "--python names" in caught.value.hint
    with pytest.raises(MissingRequirementError, match="names no file"):
        NamedRunner.parse("mine=/nowhere/mine")
    with pytest.raises(MissingRequirementError, match="names no file"):
        NamedRunner.parse("/bin/true")


def test_ncnn_reads_what_its_converter_writes(model: Path, tmp_path: Path) -> None:
    script = tmp_path / "converter"
    script.write_text(
        "#!/bin/sh\n"
        'echo "$@" > "${1%.onnx}.ncnn.param"\n'
        '[ "$2" = "inputshape=[1,8]" ] && touch "${1%.onnx}.ncnn.bin" || echo "bad shape"\n'
    )
    script.chmod(0o755)
    shapes = {"x": (1, 8)}
    files = converted.files_of("ncnn", model, shapes, tmp_path, str(script))
    assert [path.name for path in files] == ["net.ncnn.param", "net.ncnn.bin"]
    assert files[0].read_text().split()[1:] == ["inputshape=[1,8]", "fp16=0"]
    files[1].unlink()
    with pytest.raises(RunnerError, match="pnnx failed: bad shape"):
        converted.files_of("ncnn", model, {"x": (1, 9)}, tmp_path, str(script))
    own = converted.files_of("ncnn", model, shapes, tmp_path)
    assert own == [tmp_path / "net.ncnn.param", tmp_path / "net.ncnn.bin"]
    assert converted.files_of("onnxruntime", model, shapes, tmp_path) == [model]


def test_litert_reads_what_its_converter_writes(tmp_path: Path) -> None:
    """A file of onnx2tf for an image has its channels last, and outputs as in the ONNX file."""
    model, script = tmp_path / "net.onnx", tmp_path / "converter"
    model.touch()
    script.write_text(
        '#!/bin/sh\n[ "$8" = "x:1,3,8,6" ] || { echo "bad shape"; exit 1; }\n'
        'mkdir -p "$4"; touch "$4/net_float32.tflite"\n'
    )
    script.chmod(0o755)
    files = converted.files_of("litert", model, {"x": (1, 3, 8, 6)}, tmp_path, str(script))
    assert files == [tmp_path / "net.tflite"]
    with pytest.raises(RunnerError, match="onnx2tf failed: bad shape"):
        converted.files_of("litert", model, {"x": (1, 3)}, tmp_path, str(script))
    (array,) = np.random.default_rng(0).standard_normal((1, 1, 3, 8, 6), np.float32)
    tensors: dict[int, Any] = {}
    network = SimpleNamespace(
        allocate_tensors=lambda: None,
        get_input_details=lambda: [{"index": 4, "shape": np.array([1, 8, 6, 3])}],
        get_output_details=list,
        set_tensor=tensors.__setitem__,
    )
    job = worker.PeerJob(files[0], tmp_path, 1, {"x": array}, [], "")
    worker.litert(job, SimpleNamespace(Interpreter=lambda *_, **__: network))
    assert np.array_equal(tensors[4], array.transpose(0, 2, 3, 1))


def test_a_network_that_fails_is_left_out_of_a_list(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = vars(on_device)["build_for"]

    def build(room: object, recipe: Recipe, progress: object) -> Any:
        if recipe.model == "bad.onnx":
            raise ModelFileError("it is damaged", where=recipe.model)
        return working(room, recipe, progress)

    monkeypatch.setattr(on_device, "build_for", build)
    request = MeasurementRequest("local")
    recipes = [Recipe(model=str(path), measurement=request) for path in ("bad.onnx", model)]
    scope = Scope("local", recipes, 1, "f32", sys.executable, tolerant=True)
    figures, left_out = on_device.compare(scope, tmp_path / "peers", RecordedProgress())
    assert {figure.network for figure in figures} == {"net"}
    assert left_out[0] == "bad: it is damaged"
    with pytest.raises(ModelFileError):
        on_device.compare(replace(scope, tolerant=False), tmp_path, RecordedProgress())


def test_the_platforms_of_a_python_are_those_that_pip_accepts() -> None:
    done = subprocess.run([sys.executable, "-c", wheels.FACTS], capture_output=True, check=True)
    here = DevicePython.parse(done.stdout)
    assert here.version == f"{sys.version_info[0]}.{sys.version_info[1]}"
    debian = DevicePython("3.11", "aarch64", "glibc", "2.36")
    assert debian.platforms[0] == "manylinux_2_36_aarch64"
    assert "manylinux_2_17_aarch64" in debian.platforms
    assert "manylinux2014_aarch64" in debian.platforms
    assert DevicePython("3.12", "armv7l", "", "").platforms[0] == "musllinux_1_2_armv7l"
