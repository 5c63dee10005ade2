"""Every task with `--cpu` accepts the same names for a core, and refuses the same ones."""

from __future__ import annotations

from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from invoke.context import Context
from invoke.exceptions import Exit
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from tasks import namespace
from tests.devices.conftest import require
from trimtab.build import cmake_runner, host_build

TASKS = [n for n in namespace.task_names if "cpu" in signature(namespace[n].body).parameters]
NEEDS = {
    "bench.ab": ("qemu-aarch64", "qemu-user"),
    "bench.instructions": ("qemu-aarch64", "qemu-user"),
    "bench.model": ("qemu-aarch64", "qemu-user"),
    "bench.run": ("qemu-aarch64", "qemu-user"),
    "train": ("qemu-aarch64", "qemu-user"),
    "bench.zoo-instructions": ("qemu-aarch64", "qemu-user"),
}
# No device emulates a generic core, no figures are committed for it, and a file without detectors
# has no costs.
SAME_FOR_GENERIC = {
    *("bench.accuracy", "bench.instructions", "bench.model", "bench.sizes"),
    "bench.zoo-instructions",
}
TARGET = {"toolchain": "aarch64-linux-musl"}
BOARD = {"device": "qemu-a53", **TARGET}


class CompilerCalledError(Exception):
    """Ends a task where it would compile."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A 3x3 convolution of float32[1, 16, 8, 8], for which cores have kernels of their own."""
    weights = np.zeros((16, 16, 3, 3), np.float32)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, 16, 8, 8)) for n in "xy")
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=(1, 1, 1, 1))
    graph = helper.make_graph([node], "conv", [x], [y], [numpy_helper.from_array(weights, "w")])
    opset = [helper.make_opsetid("", 17)]
    path = tmp_path / "conv.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.fixture(autouse=True)
def compilers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """The calls of the compiler, which does not run."""
    calls: list[object] = []

    def stop(*arguments: object, progress: object) -> None:
        calls.append(arguments)
        raise CompilerCalledError

    monkeypatch.setattr(host_build, "build_engine", lambda progress: None)
    monkeypatch.setattr(cmake_runner, "run", stop)
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    return calls


def run(task: str, cpu: str, model: Path, folder: Path) -> None:
    if task in NEEDS:
        require(*NEEDS[task])
    (folder / "none.toml").write_text("")
    for name in ("one", "two"):
        Image.new("RGB", (8, 8)).save(folder / f"{name}.png")
    images = np.zeros((1, 16, 8, 8), np.float32)
    np.savez(folder / "data.npz", x=images, label=np.zeros((1, 8, 8), np.int32))
    training = {"data": str(folder / "data.npz"), "output": str(folder / "t.ttm"), "iterations": 1}
    one, results = str(model), {"results": str(folder / "results")}
    arguments: dict[str, dict[str, Any]] = {
        "build": {"input": [], "model": one, **TARGET},
        "bench.run": {"input": [], "model": one, **BOARD, **results},
        "bench.instructions": {"input": [], "model": one, **results},
        "debug": {"input": [], "model": one, **BOARD},
        "bench.ab": {"a": one, "b": one, "input": [], **BOARD, **results},
        "bench.accuracy": {
            "budget": [],
            "detectors": str(folder / "none.toml"),
            "photographs": str(folder),
            **TARGET,
        },
        "bench.model": {"input": [], "model": one},
        "bench.sizes": {"network": ["squeezenet"]},
        "bench.zoo-instructions": {"network": ["squeezenet"]},
        "convert": {"input": [], "tensor": [], "model": one, "output": str(folder / "o"), **TARGET},
        "inspect": {"input": [], "model": [one], "plan": True, **TARGET},
        "core.fit": {**BOARD, **results},
        "tune": {"input": [], "model": one, **BOARD, **results},
        "train": {"input": [], "model": one, **training, **BOARD},
        "profile": {"input": [], "model": [one], **TARGET},
        "size": {"binary": [], "model": one, **TARGET},
    }
    with suppress(CompilerCalledError):
        value = [cpu] if "cpu" in namespace[task].iterable else cpu
        namespace[task](Context(), cpu=value, **arguments[task])


@pytest.mark.parametrize("task", TASKS)
def test_every_spelling_of_a_core_does_the_same(
    task: str,
    model: Path,
    tmp_path: Path,
    compilers: list[object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def outcome(cpu: str) -> tuple[str, list[object], bytes]:
        compilers.clear()
        run(task, cpu, model, tmp_path)
        written = tmp_path / "o"
        return (
            capsys.readouterr().out,
            list(compilers),
            written.read_bytes() if written.exists() else b"",
        )

    own = outcome("cortex-a53")
    assert outcome("cortex_a53") == outcome("Cortex-A53") == own
    assert "cortex_a53" not in str(own).replace("-mcpu=cortex_a53", "")
    if task not in SAME_FOR_GENERIC:
        assert outcome("generic") != own, "the core makes a difference"


@pytest.mark.parametrize("task", TASKS)
def test_an_unknown_core_is_refused_with_what_was_meant(
    task: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(Exit, match="unknown core 'cortx_a53'") as stopped:
        run(task, "cortx_a53", model, tmp_path)
    assert stopped.value.code == 2
    assert "did you mean cortex-a53" in str(stopped.value)


@pytest.mark.parametrize("task", ["convert", "inspect", "profile", "build", "size"])
def test_a_core_of_another_machine_is_refused(task: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises(Exit, match="haswell runs x86_64, not aarch64"):
        run(task, "haswell", model, tmp_path)


def test_a_core_without_a_machine_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(Exit, match="which"):
        namespace["convert"](
            Context(), input=[], tensor=[], model=str(model), output="o", cpu="cortex-a53"
        )
