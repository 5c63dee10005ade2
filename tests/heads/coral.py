"""Recorded results of Coral's decoder of persons, and a TFLite file with its operator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.heads.reference import Array
from tests.importers.tflite_writer import Model

MAPS = ("heat", "offsets", "displacements")
NAMES = ("a", "b")
RECORDED = Path(__file__).with_name("coral.npz")
"""Maps [c, h, w] of two pictures, and the results of DecodeAllPoses (google-coral/libcoral 6589d0b,
compiled with GCC 12): a stride of 8, a radius of 20 pixels, 10 persons, 5 refinements."""


def recorded(name: str) -> dict[str, Array]:
    """The maps, `threshold`, and the results `points` [persons, 17, (x, y, score)] and `scores`."""
    arrays = np.load(RECORDED)
    return {key.removeprefix(f"{name}."): arrays[key] for key in arrays if key.startswith(name)}


def model(name: str, masks: bool = False, operator: str = "PosenetDecoderOp") -> Model:
    """The operator alone, whose inputs are the maps."""
    stored, file = recorded(name), Model()
    maps = [np.moveaxis(stored[of], 0, -1)[None].astype(np.float32) for of in MAPS]
    settings: dict[str, Any] = {
        "max_detections": 10,
        "score_threshold": float(stored["threshold"]),
        "stride": 8,
        "nms_radius": 20.0,
    }
    shapes: list[tuple[int, ...]] = [(1, 10, 17, 2), (1, 10, 17), (1, 10), (1,)]
    inputs = [file.input(x) for x in maps]
    shapes += [(1, 10, 33, 33)] * masks
    file.outputs = file.add(operator, inputs, shapes, **settings)
    return file


def check(name: str, outputs: Mapping[str, Any]) -> None:
    """Compares the operator's outputs with the recorded ones."""
    stored = recorded(name)
    places, scores, of_persons, count = outputs.values()
    n = len(stored["scores"])
    np.testing.assert_array_equal(count, [n])
    np.testing.assert_allclose(places[0, :n], stored["points"][..., [1, 0]], 1e-4, 1e-2)
    np.testing.assert_allclose(scores[0, :n], stored["points"][..., 2], 1e-4, 1e-5)
    np.testing.assert_allclose(of_persons[0, :n], stored["scores"], 1e-4, 1e-5)
    assert not places[0, n:].any()
