"""Networks of well-known families with golden outputs of another engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops.cases.case import Array
from trimtab import paths
from trimtab.program import Program


@dataclass(frozen=True)
class Published:
    """A model as its authors published it. `tolerance` is relative to the largest golden value.

    `free`: the name of the input whose shape the file leaves open. `only`: the golden outputs that
    this model has, if the file holds more.
    """

    folder: str
    file: str
    tolerance: float = 1e-4
    free: str = ""
    only: str = ""

    def load(self, path: Path, inputs: list[Array]) -> Program:
        """The program of the model for the golden inputs."""
        return trimtab.load(path, inputs={self.free: inputs[0].shape} if self.free else {})

    def outputs(self, golden: dict[str, Array]) -> dict[str, Array]:
        """The golden outputs to compare with."""
        return {name: array for name, array in golden.items() if name.startswith(self.only)}


PUBLISHED = (
    Published("ultraface_onnx", "RFB-320.onnx"),
    Published("ultraface_caffe", "RFB-320.prototxt"),
    Published("ultraface_ncnn", "RFB-320.param", free="input"),
    Published("ultraface_pnnx", "RFB_320.pnnx.param"),
    Published("ultraface_tflite", "RFB-320.tflite", tolerance=1e-3),
    Published("yolo_fastest_darknet", "yolo-fastest-1.1.cfg", only="yolo"),
    Published("squeezenet_paddle_split", "model"),
    Published("mtcnn_pnet_paddle_combined", "PNet.pdmodel", free="x"),
)


def model(folder: str, file: str) -> Path:
    """The path of a model; skips the test if it is missing."""
    path = paths.root().parent / "shared" / "models" / folder / file
    if not path.exists():
        pytest.skip(f"no ../shared/models/{folder}/{file}")
    return path


def golden(path: Path) -> tuple[list[Array], dict[str, Array]]:
    """Inputs in order and outputs by name of the model at `path`."""
    with np.load(path.parent / "golden.npz") as file:
        inputs = [file[name] for name in file.files if name.startswith("in:")]
        return inputs, {name[4:]: file[name] for name in file.files if name.startswith("out:")}


def assert_close(actual: Array, expected: Array, tolerance: float = 1e-4) -> None:
    """The same shape, and within `tolerance` of the largest expected value."""
    assert actual.shape == expected.shape
    assert float(abs(actual - expected).max()) <= tolerance * float(abs(expected).max())
