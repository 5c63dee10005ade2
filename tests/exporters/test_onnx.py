"""Export to ONNX: for every operator vector and for networks of the zoo, onnxruntime computes the
same outputs for the exported, optimized program and for the original model.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests.ops import oracle
from tests.ops.cases import all_cases
from tests.ops.cases.case import Case
from trimtab import exporters, passes, session, zoo
from trimtab.errors import ExportModelError, UsageError
from trimtab.exporters import onnx as onnx_exporter
from trimtab.exporters.onnx import encode
from trimtab.program import Program
from trimtab.program.quantization import Quantization

# Vectors that must be refused, because ONNX has no operator for them.
REFUSED = {
    "Resize-linear-crop",
    "Resize-linear-crop-scales",
    "Resize-nearest-tf-half-pixel-for-nn",
    "Resize-policy-not_smaller",
}
# Steps of convolutions with computed weights.
REFUSED_OPERATORS = {"im2col", "col2im", "computed_depthwise"}


def exported(source: bytes, folder: Path) -> onnx.ModelProto:
    path = folder / "source.onnx"
    path.write_bytes(source)
    return model_of(trimtab.load(path))


def model_of(program: Program) -> onnx.ModelProto:
    """The program as ONNX."""
    return onnx.load_model_from_string(encode(exporters.plain(program))[".onnx"])


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_an_exported_operator_computes_the_same(case: Case, tmp_path: Path) -> None:
    program = trimtab.load(case.model)
    if case.id in REFUSED or REFUSED_OPERATORS & {op.type for op in program.ops}:
        with pytest.raises(ExportModelError, match="ONNX has no equivalent operator"):
            exported(case.model.SerializeToString(), tmp_path)
        return
    if program.is_counted:
        with pytest.raises(UsageError, match="some depend on data"):
            exported(case.model.SerializeToString(), tmp_path)
        return
    model = exported(case.model.SerializeToString(), tmp_path)
    oracle.assert_agree(case, oracle.run(model, case.inputs), oracle.expected(case))


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "shufflenet_v2", "yolo_fastest"])
def test_an_exported_network_computes_the_same(name: str, tmp_path: Path) -> None:
    source = zoo.model(name)
    model = exported(source.SerializeToString(), tmp_path)
    assert len(model.graph.node) > 10
    inputs = zoo.sample_input(name)
    expected = oracle.run(source, inputs)
    case = Case(name, source, inputs, rtol=1e-3, atol=1e-4)
    oracle.assert_agree(case, oracle.run(model, inputs), expected)


def test_a_planned_program_is_refused_with_the_reason(tmp_path: Path) -> None:
    case = next(case for case in all_cases() if case.id.startswith("Conv-"))
    path = tmp_path / "source.onnx"
    path.write_bytes(case.model.SerializeToString())
    with pytest.raises(ExportModelError, match="packed for kernels"):
        model_of(session.optimize(trimtab.load(path)))


def test_an_optimized_program_is_exported_from_its_source(tmp_path: Path) -> None:
    case = next(case for case in all_cases() if case.id == "conv-residual-Clip")
    path = tmp_path / "source.onnx"
    path.write_bytes(case.model.SerializeToString())
    optimized = passes.optimize(trimtab.load(path))
    oracle.assert_agree(case, oracle.run(model_of(optimized), case.inputs), oracle.expected(case))
    optimized.source = None
    with pytest.raises(ExportModelError, match="operators are fused"):
        model_of(optimized)


def test_the_suffix_selects_the_format() -> None:
    exporter = exporters.exporter_for(Path("net.onnx"))
    assert exporter is not None
    assert exporter.SUFFIXES == (".onnx",)
    for pair in (("net.prototxt", "net.caffemodel"), ("net.param", "net.bin")):
        assert len({exporters.exporter_for(Path(name)) for name in pair}) == 1
    assert exporters.exporter_for(Path("net.ttm")) is None
    assert exporters.exporter_for(Path("net")) is None


def test_suffixes_of_other_formats_are_refused() -> None:
    with pytest.raises(UsageError, match=r"writes \.tflite files"):
        exporters.exporter_for(Path("net.tflite"))


def test_a_file_larger_than_a_protobuf_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 4))
    program.outputs = program.block.add_op("relu", [x])
    size = len(encode(program)[".onnx"])
    monkeypatch.setattr(onnx_exporter, "MAX_BYTES", size)
    assert len(encode(program)[".onnx"]) == size
    monkeypatch.setattr(onnx_exporter, "MAX_BYTES", size - 1)
    with pytest.raises(ExportModelError, match=f"would have {size} bytes, and the limit is"):
        encode(program)


def test_a_padding_value_of_a_pooling_is_exported_for_each_side(tmp_path: Path) -> None:
    x = np.random.default_rng(2).normal(-3, 1, (1, 2, 6, 6)).astype(np.float32)
    for pads in ([1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]):
        program = Program("net")
        program.add_input("x", x.shape)
        window = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": pads, "pad_value": 0.0}
        program.outputs = program.block.add_op("max_pool", ["x"], window)
        model = model_of(program)
        (expected,) = oracle.run(model, {"x": x}).values()
        (result,) = session.Session(program).run({"x": x}).values()
        np.testing.assert_array_equal(result, expected)


def test_quantization_of_a_computed_tensor_is_exported_with_its_parameters() -> None:
    program = Program("net")
    x = program.add_input("x", (1, 3, 4))
    (q,) = program.block.add_op("quantize_linear", [x], {"to": "i8"}, ["q"])
    program.vars[q].quantization = Quantization.of([0.1, 0.2, 0.4], [1, 2, 3], 1)
    program.outputs = program.block.add_op("dequantize_linear", [q], {}, ["y"])
    value = np.random.default_rng(3).normal(0, 20, (1, 3, 4)).astype(np.float32)
    model = model_of(program)
    (expected,) = oracle.run(model, {"x": value}).values()
    (result,) = session.Session(program).run({"x": value}).values()
    np.testing.assert_array_equal(result, expected)
