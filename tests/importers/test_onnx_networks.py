"""Whole networks through the ONNX importer and the engine of this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests.ops import oracle
from trimtab import zoo


@pytest.mark.parametrize("name", zoo.names())
def test_a_network_of_the_zoo_computes_what_onnxruntime_computes(name: str, tmp_path: Path) -> None:
    path = zoo.write(name, tmp_path)
    inputs = zoo.sample_input(name)
    outputs = trimtab.Session(trimtab.load(path)).run(inputs)
    expected = oracle.run(onnx.load(path), inputs)
    assert list(outputs) == list(expected)
    for key, want in expected.items():
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(outputs[key], want, rtol=0, atol=1e-4 * scale)
