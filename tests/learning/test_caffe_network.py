"""Caffe networks in their phases: losses, dropout, statistics, data and first values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trimtab.errors import ImportModelError, UnsupportedOperatorError
from trimtab.learning.caffe_network import CaffeNetwork, CaffeSource

NETWORK = """
layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { scale: 0.5 mean_value: 10 crop_size: 8 mirror: true }
  data_param { batch_size: 4 } }
layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { batch_size: 2 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "x"
  convolution_param { num_output: 50 kernel_size: 3
    weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.25 } } }
layer { name: "norm" type: "BatchNorm" bottom: "x" top: "x"
  batch_norm_param { moving_average_fraction: 0.9 } }
layer { name: "drop" type: "Dropout" bottom: "x" top: "y" dropout_param { dropout_ratio: 0.2 } }
layer { name: "mean" type: "Pooling" bottom: "y" top: "mean"
  pooling_param { pool: AVE global_pooling: true } }
layer { name: "side" type: "InnerProduct" bottom: "x" top: "side" include { phase: TRAIN }
  inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "ip" type: "InnerProduct" bottom: "mean" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "msra" variance_norm: FAN_OUT } } }
layer { name: "top" type: "Accuracy" bottom: "ip" bottom: "label" top: "top"
  include { phase: TEST } accuracy_param { top_k: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
  loss_param { ignore_label: 2 normalize: false } }
layer { name: "loss2" type: "SoftmaxWithLoss" bottom: "side" bottom: "label" loss_weight: 0.3
  include { phase: TRAIN } }
"""


def load(folder: Path, text: str, phase: str) -> CaffeNetwork:
    path = folder / "net.prototxt"
    path.write_text(text)
    return CaffeSource(path, seed=5).load(phase, lambda _: (3, 9, 10))


def test_the_phases_of_a_file_differ_where_it_says_so(tmp_path: Path) -> None:
    train, test = (load(tmp_path, NETWORK, phase) for phase in ("TRAIN", "TEST"))
    assert train.program.vars["data"].shape == (4, 3, 8, 8)
    assert test.program.vars["data"].shape == (2, 3, 9, 10)
    data = train.data
    assert (data.blobs, data.scale, data.mean, data.mirror) == (("data", "label"), 0.5, (10,), True)
    assert train.phase.dropout == {"drop": 0.2}
    assert train.phase.statistics == {"norm": 0.9}
    assert test.phase.dropout == test.phase.statistics == {}
    assert {op.name for op in train.program.ops} >= {"drop", "norm", "side"}
    assert not {"drop", "side"} & {op.name for op in test.program.ops}
    first, second = train.losses
    assert (first["kind"], first["normalization"], first["ignore_label"]) == (
        "softmax",
        "batch_size",
        2,
    )
    assert (second["output"], second["weight"], second["normalization"]) == ("side", 0.3, "")
    assert [one["top"] for one in test.accuracies] == [2]
    assert (train.accuracies, train.program.outputs) == ((), ["ip", "side"])


def test_both_phases_begin_with_the_values_of_their_fillers(tmp_path: Path) -> None:
    train, test = (load(tmp_path, NETWORK, phase).program for phase in ("TRAIN", "TEST"))
    values = {name: train.vars[name].data for name in ("conv.weight", "conv.bias", "ip.weight")}
    for name, value in values.items():
        assert value is not None
        assert np.array_equal(value, test.vars[name].data)  # type: ignore[arg-type]
    weights, bias, last = values.values()
    assert weights is not None
    assert last is not None
    bound = np.sqrt(3 / 27)
    assert 0.95 * bound < abs(weights).max() <= bound
    assert abs(weights.mean()) < 0.05 * bound
    assert (bias == 0.25).all()  # type: ignore[union-attr]
    assert np.isclose(last.std(), np.sqrt(2 / 3), rtol=0.2)


@pytest.mark.parametrize(("filler", "value"), [("", 1), ("scale_filler { value: 20 }", 20)])
def test_factors_of_a_normalization_begin_with_its_filler_or_1(
    filler: str, value: int, tmp_path: Path
) -> None:
    """Source: normalize_layer.cpp of Caffe's SSD fork."""
    old = 'layer { name: "drop" type: "Dropout" bottom: "x" top: "y"'
    new = 'layer { name: "l2" type: "Normalize" bottom: "x" top: "x" norm_param { FILLER } }\n'
    text = NETWORK.replace(old, new.replace("FILLER", filler) + old)
    program = load(tmp_path, text, "TRAIN").program
    (factors,) = (var.data for var in program.constants() if var.name.startswith("l2.scale"))
    assert factors is not None
    assert (factors == value).all()


@pytest.mark.parametrize(
    ("old", "new", "error", "match"),
    [
        ("mirror: true", 'mean_file: "m"', ImportModelError, "it has a mean_file"),
        ("SoftmaxWithLoss", "HingeLoss", ImportModelError, "this loss is not supported"),
        ("xavier", "sparse", UnsupportedOperatorError, "its filler is sparse"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    old: str, new: str, error: type[Exception], match: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=match):
        load(tmp_path, NETWORK.replace(old, new), "TRAIN")
