"""Counts, models and sizes for ARM beside the committed figures.

They do not depend on the load of the machine, so that a small allowance is sufficient.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from lab.instructions import counts as instructions
from lab.sizes import figures as sizes
from lab.sizes.measure import measure_runners
from lab.time_model.simulate import model_time
from tests.devices.conftest import require, require_counting
from trimtab import cores
from trimtab.devices.qemu_user import QemuUserDevice
from trimtab.errors import EmulatorError, UsageError
from trimtab.pipeline.instructions import count_instructions
from trimtab.pipeline.recipe import Recipe

MODELS = (pytest.param("mobilenet_v1", marks=pytest.mark.slow), "squeezenet")


@pytest.mark.device
@pytest.mark.build
@pytest.mark.parametrize("model", MODELS)
def test_an_inference_executes_no_more_instructions_than_committed(
    model: str, tmp_path: Path
) -> None:
    require_counting()
    counts = count_instructions(Recipe(model=model, cpu="cortex_a53"), tmp_path)
    assert instructions.INSTRUCTIONS.baseline
    instructions.INSTRUCTIONS.baseline.check([instructions.row(counts).record()])
    # The operators are counted in another run, with markers between them.
    assert sum(n for _, n in counts.operators) == pytest.approx(
        counts.instructions_per_inference, rel=0.01
    )


@pytest.mark.build
def test_a_trimmed_runner_and_its_model_are_no_larger_than_committed() -> None:
    runners, versions = measure_runners(["squeezenet", sizes.DETECTOR], ["cortex-a53"])
    assert sizes.SIZES.baseline
    sizes.SIZES.baseline.check([row.record() for row in runners])
    assert versions["compiler"]
    assert runners[0].runner_bytes < (runners[0].ttm_bytes or 0) < (runners[0].onnx_bytes or 0)
    assert runners[1].runner_bytes <= sizes.DETECTOR_BAR


def gemm_network(path: Path, rows: int) -> Path:
    """A network of one GEMM: a vector times `rows` x 1024 float32 weights."""
    weights = np.ones((rows, 1024), np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Gemm", ["x", "w"], ["y"])],
        "gemm",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, rows])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1024])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.device
@pytest.mark.build
def test_weights_are_read_from_memory_when_they_exceed_the_l2(tmp_path: Path) -> None:
    require_counting()
    require("llvm-mca-19", "llvm-19")
    a53 = cores.find("cortex-a53")
    recipe = Recipe(model=str(gemm_network(tmp_path / "gemm.onnx", 512)), cpu="cortex-a53")
    weights = 512 * 1024 * 4
    modeled = model_time(recipe, a53)
    assert weights <= modeled.total.read_bytes < 1.1 * weights
    assert modeled.total.l1_misses >= weights / 64
    computing = modeled.total.cycles / 1.4e9
    assert modeled.seconds(modeled.total) > computing + weights / 3.3e9
    # An L2 that is large enough keeps them between inferences.
    wide = replace(a53, l2=replace(a53.l2, bytes=8 << 20))
    assert model_time(recipe, wide).total.read_bytes < 0.02 * weights


@pytest.mark.device
@pytest.mark.build
def test_the_error_of_an_emulator_without_plugins_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require("qemu-aarch64", "qemu-user")
    monkeypatch.setattr(QemuUserDevice, "has_plugins", lambda _: False)
    recipe = Recipe(model=str(gemm_network(tmp_path / "gemm.onnx", 512)), cpu="cortex-a53")
    with pytest.raises(EmulatorError, match="without TCG plug-ins"):
        model_time(recipe, cores.find("cortex-a53"))


def test_a_network_without_a_committed_count_is_named() -> None:
    assert {model for model, _, _ in instructions.select(["vit_tiny"])} == {"vit_tiny"}
    with pytest.raises(UsageError, match="yolo26n"):
        instructions.select(["vit_tiny", "yolo26n"])
