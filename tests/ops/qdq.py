"""Operator vectors in int8: quantized by onnxruntime, with ranges per vector, as QDQ files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

from tests.ops.cases.case import Array, Case

# The largest error of an element, in units of its output's scale. Another order of summation breaks
# a tie of float32 values differently: once for the operator and once for the fused one.
STEPS = 2
# Every operator of its quantizer except Pad, whose fill value would be computed, which is refused.
_TYPES = sorted({*QDQRegistry, *QLinearOpsRegistry} - {"Pad"})
_MIN_OPSET = 13  # the first one with scales per channel


class _Once(quantization.CalibrationDataReader):  # type: ignore[misc]
    """The operands of a case, as the only calibration sample."""

    def __init__(self, case: Case) -> None:
        self._feeds = iter([case.inputs])

    def get_next(self) -> dict[str, Array] | None:
        return next(self._feeds, None)


def quantized(case: Case, folder: Path) -> Case | None:
    """The case in int8; None if onnxruntime quantizes nothing in it. Its float32 results differ
    from those of `case`.
    """
    if not case.inputs or not all(x.dtype == np.float32 and x.size for x in case.inputs.values()):
        return None
    if not all(np.isfinite(x).all() for x in case.inputs.values()):
        return None
    if case.model.opset_import[0].version < _MIN_OPSET:
        return None
    before, after = folder / "real.onnx", folder / "qdq.onnx"
    before.write_bytes(case.model.SerializeToString())
    try:
        quantization.quantize_static(
            str(before), str(after), _Once(case),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            calibrate_method=quantization.CalibrationMethod.MinMax,
            op_types_to_quantize=_TYPES,
        )  # fmt: skip
    except Exception:  # limits of its quantizer, such as unknown dimensions
        return None
    model = onnx.load(after)
    return replace(case, source=model) if steps(model) else None


def steps(model: onnx.ModelProto) -> dict[str, float]:
    """The scale of each quantized output."""
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    outputs = {output.name for output in model.graph.output}
    return {
        node.output[0]: float(np.max(constants[node.input[1]]))
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and node.output[0] in outputs
    }


def assert_near(case: Case, actual: dict[str, Array], want: dict[str, Array]) -> None:
    """Asserts that quantized outputs differ by few units of their scale, and that nineteen of
    twenty values of each operator are equal.
    """
    between = ("QuantizeLinear", "DequantizeLinear")
    operators = sum(node.op_type not in between for node in case.model.graph.node)
    for name, step in steps(case.model).items():
        assert (actual[name].dtype, actual[name].shape) == (want[name].dtype, want[name].shape)
        off = np.abs(actual[name].astype(np.float64) - want[name]) / step
        assert off.max(initial=0) <= STEPS + 1e-3
        assert np.count_nonzero(off > 1e-3) <= max(1, operators * off.size // 20)
