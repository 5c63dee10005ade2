"""Spectra of TFLite, as YAMNet has them, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array, normal
from trimtab.errors import UnsupportedOperatorError


def spectrum(x: Array, lengths: tuple[int, int], *readers: str) -> Model:
    model = Model()
    operands = [model.input(x), model.constant([*lengths])]
    shape = (*x.shape[:-2], lengths[0], lengths[1] // 2 + 1)
    (y,) = model.add("RFFT2D", operands, [shape], "Rfft2dOptions", "complex64")
    for reader in readers:
        model.outputs += model.add(reader, [y], [shape])
    model.outputs = model.outputs or [y]
    return model


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [
        ((3, 1, 400), (1, 512)),
        ((2, 6, 8), (6, 8)),
        ((2, 5, 9), (4, 7)),
        ((4, 3), (8, 1)),
        ((1, 2, 3, 10), (5, 16)),
    ],
)
def test_a_spectrum_is_that_of_numpy(
    shape: tuple[int, ...], lengths: tuple[int, int], tmp_path: Path
) -> None:
    x = normal(*shape)
    path = spectrum(x, lengths, "COMPLEX_ABS", "REAL", "IMAG").write(tmp_path)
    want = np.fft.rfft2(x.astype(np.float64), lengths)
    results = trimtab.Session(path, cache=False).run(x)
    for result, part in zip(results.values(), (np.abs(want), want.real, want.imag), strict=True):
        assert result.dtype == np.float32
        assert result.shape == part.shape
        np.testing.assert_allclose(result, part, 0, 1e-6 * np.abs(want).max() + 1e-6)


@pytest.mark.parametrize("reader", [(), ("RELU",)])
def test_complex_numbers_are_no_result_and_no_operand_of_others(
    reader: tuple[str, ...], tmp_path: Path
) -> None:
    path = spectrum(normal(2, 4, 4), (4, 4), *reader).write(tmp_path)
    with pytest.raises(UnsupportedOperatorError, match="its operand is complex"):
        trimtab.load(path)


def test_the_magnitude_of_real_numbers_is_refused(tmp_path: Path) -> None:
    model = Model()
    model.outputs = model.add("COMPLEX_ABS", [model.input(normal(3))], [(3,)])
    path = model.write(tmp_path)
    with pytest.raises(UnsupportedOperatorError, match="its operand is not a spectrum"):
        trimtab.load(path)
