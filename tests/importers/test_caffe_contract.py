"""The contract of Caffe's layers: counts of bottoms and tops, in-place layers, and phases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_cases import cases
from tests.importers.caffe_writer import head, layer, random, write
from tests.importers.opencv import opencv_caffe
from tests.some import some
from trimtab.errors import ImportModelError
from trimtab.importers.caffe_ops.contract import BlobCounts, counts_of
from trimtab.importers.caffe_ops.layer import HANDLERS

SHAPE = (1, 4, 6, 6)

# Caffe's declared counts that differ from one bottom and one top: ExactNum..., Min..., Max...
# and EqualNumBottomTopBlobs of its headers; those below are of its forks.
DECLARED = {
    "Convolution": BlobCounts((1, None), (1, None), equal=True),
    "Deconvolution": BlobCounts((1, None), (1, None), equal=True),
    "Pooling": BlobCounts((1, 1), (1, 2)),
    "Concat": BlobCounts((1, None)),
    "Slice": BlobCounts(tops=(1, None)),
    "Split": BlobCounts(tops=(1, None)),
    "Eltwise": BlobCounts((2, None)),
    "Scale": BlobCounts((1, 2)),
    "Bias": BlobCounts((1, 2)),
    "Crop": BlobCounts((2, 2)),
    "Reshape": BlobCounts(in_place=False),
    "Flatten": BlobCounts(in_place=False),
    "DepthwiseConvolution": BlobCounts((1, None), (1, None), equal=True),
    "ConvolutionDepthwise": BlobCounts((1, None), (1, None), equal=True),
    "PriorBox": BlobCounts((2, 2)),
    "DetectionOutput": BlobCounts((3, 4)),
    "Axpy": BlobCounts((3, 3)),
    "Interp": BlobCounts((1, 2)),
    "Upsample": BlobCounts((1, 2)),
    "BatchReindex": BlobCounts((2, 2)),
    "Parameter": BlobCounts((0, 0)),
    "ROIPooling": BlobCounts((2, 2)),
    "PSROIPooling": BlobCounts((2, 2)),
}


def test_every_layer_has_the_counts_that_caffe_declares() -> None:
    own = {type: counts_of(HANDLERS[type]) for type in HANDLERS}
    assert own == {type: DECLARED.get(type, BlobCounts()) for type in HANDLERS}
    assert DECLARED.keys() <= own.keys()


def load(folder: Path, text: str) -> trimtab.Program:
    return trimtab.load(write(folder, head({"a": SHAPE, "b": SHAPE, "c": SHAPE}) + text))


def broken(folder: Path, text: str) -> str:
    with pytest.raises(ImportModelError) as caught:
        load(folder, text)
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(
    ("type", "bottoms", "tops", "problem"),
    [
        ("ReLU", "", "y", "it has 0 bottoms, and takes exactly 1"),
        ("ReLU", "a b", "y", "it has 2 bottoms, and takes exactly 1"),
        ("ReLU", "a", "", "it has 0 tops, and takes exactly 1"),
        ("ReLU", "a", "y z", "it has 2 tops, and takes exactly 1"),
        ("InnerProduct", "a b", "y z", "it has 2 bottoms, and takes exactly 1"),
        ("Convolution", "", "y", "it has 0 bottoms, and takes at least 1"),
        ("Convolution", "a b", "y", "it has 2 bottoms and 1 top, and takes equal numbers"),
        ("Eltwise", "a", "y", "it has 1 bottom, and takes at least 2"),
        ("Eltwise", "a b", "y z", "it has 2 tops, and takes exactly 1"),
        ("Scale", "a b c", "y", "it has 3 bottoms, and takes at most 2"),
        ("Pooling", "a", "y z w", "it has 3 tops, and takes at most 2"),
        ("Crop", "a", "y", "it has 1 bottom, and takes exactly 2"),
        ("DetectionOutput", "a b", "y", "it has 2 bottoms, and takes at least 3"),
    ],
)
def test_other_numbers_of_bottoms_and_tops_are_refused_before_set_up(
    type: str, bottoms: str, tops: str, problem: str, tmp_path: Path
) -> None:
    # Parameters and weights are missing, too: the counts are reported first.
    message = broken(tmp_path, layer(type, bottoms, tops, name="wrong"))
    assert f"layer 'wrong' ({type}): {problem}" in message


def test_a_mean_has_no_mask(tmp_path: Path) -> None:
    param = "pooling_param { pool: AVE kernel_size: 2 }"
    assert "a mean has no mask" in broken(tmp_path, layer("Pooling", "a", "y z", param))


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("propagate_down: true", "1 values of 'propagate_down', not 2"),
        ("loss_weight: 1 loss_weight: 0", "2 values of 'loss_weight', not 1"),
    ],
)
def test_fields_per_bottom_or_top_are_complete(field: str, expected: str, tmp_path: Path) -> None:
    assert expected in broken(tmp_path, layer("Eltwise", "a b", "y", field))


def test_fields_of_training_may_be_complete(tmp_path: Path) -> None:
    fields = "propagate_down: true propagate_down: false loss_weight: 0"
    assert load(tmp_path, layer("Eltwise", "a b", "y", fields)).outputs == ["y"]


def test_every_case_of_a_layer_keeps_its_contract() -> None:
    for case in some(cases()):
        type = case.id.partition("-")[0]
        counts = counts_of(HANDLERS[type])
        assert counts is not None
        assert not counts.problem(len(case.inputs), 1), case.id


def test_readers_before_an_in_place_layer_get_the_value_before_it(tmp_path: Path) -> None:
    text = layer("Power", "a", "t", "power_param { shift: -0.5 }")
    text += layer("AbsVal", "t", "before") + layer("ReLU", "t", "t", name="relu")
    text += layer("Power", "t", "after", "power_param { scale: 2 }")
    x = random(*SHAPE, seed=1)
    program = trimtab.load(write(tmp_path, head({"a": SHAPE}) + text))
    assert program.outputs == ["before", "after"]
    results = trimtab.Session(program).run({"a": x})
    t = x - np.float32(0.5)
    np.testing.assert_array_equal(results["before"], abs(t))
    np.testing.assert_array_equal(results["after"], t.clip(0) * 2)
    (expected,) = opencv_caffe(head({"a": SHAPE}) + text, {}, {"a": x}, ["after"])
    np.testing.assert_array_equal(results["after"], expected)


@pytest.mark.parametrize(
    "text",
    [
        layer("ReLU", "a", "y") + layer("ReLU", "b", "y", name="second"),
        layer("Eltwise", "a b", "b", name="second"),
        layer("Slice", "a", "y y", name="second"),
        layer("ReLU", "a", "b", name="second"),
    ],
    ids=["two layers", "bottom at another place", "twice", "an input"],
)
def test_a_blob_with_two_sources_is_refused(text: str, tmp_path: Path) -> None:
    message = broken(tmp_path, text)
    assert "layer 'second'" in message
    assert "has another source already" in message


@pytest.mark.parametrize("type", ["Reshape", "Flatten"])
def test_layers_that_cannot_work_in_place_are_refused(type: str, tmp_path: Path) -> None:
    assert "cannot work in place" in broken(tmp_path, layer(type, "a", "a", name="wrong"))


def test_a_loss_without_a_top_gets_none(tmp_path: Path) -> None:
    """Caffe names such a top itself (AutoTopBlobs); here, a network ends before its losses."""
    text = layer("Power", "a", "y") + layer("EuclideanLoss", "y b", "", name="loss")
    assert load(tmp_path, text).outputs == ["y"]


def phased(rules: str, net: str = "") -> str:
    return net + head({"a": SHAPE}) + layer("ReLU", "a", "y") + layer("AbsVal", "y", "z", rules)


@pytest.mark.parametrize(
    ("rules", "net", "runs"),
    [
        ("include { phase: TEST }", "", True),
        ("include { phase: TRAIN }", "", False),
        ("include { phase: TRAIN } include { phase: TEST }", "", True),
        ("exclude { phase: TEST }", "", False),
        ("exclude { phase: TRAIN }", "", True),
        ("include { phase: 1 }", "", True),
        ("include { phase: TRAIN }", "state { phase: TRAIN }", True),
        ("include { stage: 'deploy' }", "state { stage: 'deploy' }", True),
        ("include { stage: 'deploy' }", "state { phase: TRAIN stage: 'deploy' }", True),
        ("include { stage: 'deploy' not_stage: 'fast' }", "state { stage: 'deploy' }", True),
        ("exclude { not_stage: 'deploy' }", "state { stage: 'deploy' }", True),
        ("include { min_level: 1 }", "", False),
        ("include { min_level: 1 max_level: 2 }", "state { level: 2 }", True),
        ("include { max_level: 2 }", "state { level: 3 }", False),
    ],
)
def test_a_layer_runs_where_its_rules_hold(
    rules: str, net: str, runs: bool, tmp_path: Path
) -> None:
    program = trimtab.load(write(tmp_path, phased(rules, net)))
    assert program.outputs == (["z"] if runs else ["y"])


def test_a_layer_with_include_and_exclude_rules_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, phased("include { phase: TEST } exclude { stage: 'a' }"))
    with pytest.raises(ImportModelError, match=r"layer 'z' .*include and exclude rules"):
        trimtab.load(path)
