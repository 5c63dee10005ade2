"""A Faster R-CNN in the form of py-faster-rcnn, with its plug-in, against numpy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.caffe_writer import caffemodel
from tests.ops.cases.case import Array
from tests.ops.regions import roi_pooling
from tests.plugins.test_examples import inv
from trimtab import paths

PLUGIN = paths.root() / "examples" / "plugins" / "proposal"
SHAPES = {
    "conv1": (8, 3, 5, 5),
    "conv2": (12, 8, 5, 5),
    "rpn_conv": (12, 12, 3, 3),
    "rpn_cls_score": (18, 12, 1, 1),
    "rpn_bbox_pred": (36, 12, 1, 1),
    "fc6": (16, 108),
    "cls_score": (4, 16),
    "bbox_pred": (16, 16),
}


def weights() -> dict[str, list[Array]]:
    rng = np.random.default_rng(8)
    result = {}
    for name, shape in SHAPES.items():
        scale = 0.3 if name == "rpn_bbox_pred" else 1.5
        kernel = rng.normal(size=shape) * scale / np.sqrt(np.prod(shape[1:]))
        result[name] = [a.astype(np.float32) for a in (kernel, rng.normal(size=shape[0]) * 0.1)]
    return result


def conv(x: Array, blobs: list[Array], stride: int = 1, pad: int = 0) -> Array:
    kernel, bias = blobs
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    y: Array = np.einsum("nchwij,ocij->nohw", windows, kernel)
    return y + bias.reshape(1, -1, 1, 1)


def softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(1, keepdims=True))
    y: Array = e / e.sum(1, keepdims=True)
    return y


def reference(
    inputs: dict[str, Array], blobs: dict[str, list[Array]], cases: Any
) -> dict[str, Array]:
    """The network in float64, its regions by the functions of the plug-in's cases."""
    b = {name: [a.astype(np.float64) for a in arrays] for name, arrays in blobs.items()}
    x = np.maximum(conv(inputs["data"].astype(np.float64), b["conv1"], 4, 2), 0)
    features = np.maximum(conv(x, b["conv2"], 4, 2), 0)
    rpn = np.maximum(conv(features, b["rpn_conv"], 1, 1), 0)
    scores = conv(rpn, b["rpn_cls_score"])
    n, _, h, w = scores.shape
    scores = softmax(scores.reshape(n, 2, 9 * h, w)).reshape(n, 18, h, w)
    deltas = conv(rpn, b["rpn_bbox_pred"])
    # The anchors of the paper's code, as it prints them: ratios 1:2, 1:1, 2:1, scales 8, 16, 32.
    anchors = np.array(
        [
            *((-84, -40, 99, 55), (-176, -88, 191, 103), (-360, -184, 375, 199)),
            *((-56, -56, 71, 71), (-120, -120, 135, 135), (-248, -248, 263, 263)),
            *((-36, -80, 51, 95), (-80, -168, 95, 183), (-168, -344, 183, 359)),
        ]
    )
    rois = cases.proposal(scores, deltas, inputs["im_info"], anchors, 16, 6000, 300, 0.7, 16.0)
    pooled = roi_pooling(features, rois, 3, 3, 0.0625).reshape(300, -1)
    fc6 = np.maximum(pooled @ b["fc6"][0].T + b["fc6"][1], 0)
    heads = {name: fc6 @ b[name][0].T + b[name][1] for name in ("cls_score", "bbox_pred")}
    return {"bbox_pred": heads["bbox_pred"], "cls_prob": softmax(heads["cls_score"])}


@pytest.mark.build
@pytest.mark.device
def test_the_network_is_correct_here_and_on_a_cortex_a53(tmp_path: Path) -> None:
    assert inv("--plugin", str(PLUGIN), "engine", cwd=tmp_path).returncode == 0
    blobs = weights()
    text = (PLUGIN / "tests" / "deploy.prototxt").read_text()
    (tmp_path / "net.prototxt").write_text(text)
    (tmp_path / "net.caffemodel").write_bytes(caffemodel(blobs))
    picture = np.random.default_rng(2).normal(size=(1, 3, 96, 128)).astype(np.float32)
    inputs = {"data": picture, "im_info": np.array([[96, 128, 1]], np.float32)}
    np.savez(tmp_path / "in.npz", allow_pickle=False, **inputs)
    spec = importlib.util.spec_from_file_location("cases", PLUGIN / "tests/cases/regions.py")
    assert spec is not None
    assert spec.loader is not None
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    expected = reference(inputs, blobs, cases)
    for device in ("", "qemu-a53"):
        words = [
            PLUGIN,
            tmp_path / "net.prototxt",
            tmp_path / "in.npz",
            device,
            tmp_path / "out.npz",
        ]
        argv = [sys.executable, "-m", "tests.plugins.faster_rcnn", *map(str, words)]
        done = subprocess.run(
            argv, cwd=paths.root(), capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode == 0, done.stderr
        results = np.load(tmp_path / "out.npz")
        assert set(results) == set(expected)
        for name, want in expected.items():
            np.testing.assert_allclose(results[name], want, rtol=1e-3, atol=1e-4, err_msg=name)
