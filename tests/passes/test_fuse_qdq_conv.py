"""Weighted operators between DequantizeLinear and QuantizeLinear compute on int8 values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.test_onnx_quantized import network
from trimtab import passes


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_every_convolution_of_a_quantized_network_computes_on_integers(
    dtype: type[Any], tmp_path: Path
) -> None:
    model, _ = network(dtype)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    source = trimtab.load(tmp_path / "net.onnx")
    program = passes.optimize(source)
    counts = [
        sum(op.type.removeprefix("qlinear_") in ("conv", "gemm") for op in one.ops)
        for one in (source, program)
    ]
    assert counts == [5, 5]
    integer = [op for op in program.ops if op.type in ("qlinear_conv", "qlinear_gemm")]
    assert len(integer) == 5
    for op in integer:
        x, y = program.vars[op.inputs[0]], program.vars[op.outputs[0]]
        assert {x.dtype, y.dtype} == {"i8"}
        assert y.quantization is not None
