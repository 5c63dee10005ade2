"""Export to Caffe: what is peculiar to it; test_other_formats.py has the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.exporters.round_trip import (
    check_read_back,
    check_with_runtime,
    chosen,
    from_opencv,
    program_of,
    vectors,
    written,
)
from tests.small_programs import Net, normal
from trimtab.errors import ExportModelError
from trimtab.program import Program

LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("id", chosen("only_caffe"))
def test_an_operator_that_opencv_lacks_is_read_back(id: str, tmp_path: Path) -> None:
    case = vectors()[id]
    program = program_of(case, tmp_path)
    check_read_back(case, program, written(program, tmp_path / "net.prototxt"))


@pytest.mark.parametrize("pads", [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
def test_a_padding_value_of_a_pooling_is_exported_for_each_side(
    pads: list[int], tmp_path: Path
) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 2, 7, 7))
    low = program.block.add_op(
        "add", [x, program.block.add_constant(np.full((1,), -9, np.float32))]
    )
    window = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": pads, "pad_value": 0.0}
    program.outputs = program.block.add_op("max_pool", low, window)
    check_with_runtime(program, tmp_path / "net.prototxt")


def test_names_keep_quotes_and_other_letters(tmp_path: Path) -> None:
    program = Program('a "net"')
    x = program.add_input('x "1" \\', (1, 2, 3))
    program.outputs = program.block.add_op("relu", [x], outputs=["größer"])
    again = trimtab.load(written(program, tmp_path / "net.prototxt"))
    assert (again.inputs, again.outputs) == (program.inputs, program.outputs)


@pytest.mark.parametrize(
    ("type", "attributes", "match"),
    [
        ("erf", {}, r"Caffe has no equivalent operator: .*rror function"),
        ("max_pool", {"kernel_shape": [2, 2], "dilations": [2, 2]}, "dilations"),
        ("max_pool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}, r"pads are \[1, 1, 0, 0\]"),
        ("resize", {"sizes": [7, 9], "mode": "linear"}, r"linear \(half_pixel\)"),
        ("transpose", {"permutation": [0, 1, 2, 3]}, ""),
    ],
)
def test_what_caffe_cannot_express_is_refused_by_name(
    type: str, attributes: dict[str, object], match: str, tmp_path: Path
) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 8, 6, 6))
    program.outputs = program.block.add_op(type, [x], attributes, name="one")
    if not match:
        assert trimtab.load(written(program, tmp_path / "net.prototxt")).outputs == program.outputs
        return
    with pytest.raises(ExportModelError, match=match) as caught:
        written(program, tmp_path / "net.prototxt")
    assert "operator one" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_side_whose_padding_is_no_whole_number_of_taps_is_refused(tmp_path: Path) -> None:
    """Caffe pads both sides alike: a tap of 0 is two pixels wide with a dilation of 2."""
    program = Program("net")
    x = program.add_input("x", (1, 2, 9, 9))
    w = program.block.add_constant(np.ones((3, 2, 3, 3), np.float32), "w")
    window = {"strides": (1, 1), "dilations": (2, 2), "group": 1, "pads": (2, 2, 1, 2)}
    program.outputs = program.block.add_op("conv", [x, w], window, name="one")
    with pytest.raises(ExportModelError, match=r"pads are \[2, 2, 1, 2\], its dilations \[2, 2\]"):
        written(program, tmp_path / "net.prototxt")


def test_a_network_for_several_images_keeps_its_batch_free(tmp_path: Path) -> None:
    program = Program("net")
    x = program.add_input("x", (2, 3, 4, 4))
    program.outputs = program.block.add_op("reshape", [x], {"shape": [2, 48]}, ["y"])
    path = written(program, tmp_path / "net.prototxt")
    assert trimtab.load(path, {"x": (5, 3, 4, 4)}).vars["y"].shape == (5, 48)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *((0, LARGEST), (-LARGEST, 6), (-LARGEST, LARGEST), (0, 1e30), (-65504, 65504), (0, 1e6)),
        *((-1, 1), (0.5, 2), (-2, LARGEST), (0, 6)),
    ],
)
@pytest.mark.parametrize("is_fused", [False, True])
def test_bounds_of_any_size_keep_every_digit(
    low: float, high: float, is_fused: bool, tmp_path: Path
) -> None:
    net = Net(x=(1, 7, 1, 1))
    x = np.array([-2, -1, -1e-6, 1e-6, 0.5, 3, 70000], np.float32).reshape(1, 7, 1, 1)
    unit = np.eye(7, dtype=np.float32)[:, :, None, None]
    operand = net("conv", "x", unit) if is_fused else "x"
    net.program.outputs = [net("clip", operand, alpha=low, beta=high)]
    path = written(net.program, tmp_path / "net.prototxt")
    expected = np.clip(x, np.float32(low), np.float32(high))
    for results in (
        trimtab.Session(trimtab.load(path)).run(x),
        from_opencv(path, {"x": x}, net.program.outputs),
    ):
        np.testing.assert_array_equal(results["clip"], expected)


@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (1, 1, 4, 1), (4,), (1, 1, 4, 4), (4, 4, 4)])
@pytest.mark.parametrize("type", ["add", "mul", "sub", "div"])
@pytest.mark.parametrize("before", ["conv", "conv_transpose", "batch_normalization"])
def test_a_constant_behind_a_convolution_stays_along_its_axes(
    before: str, type: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    """OpenCV merges a Scale into the layer before it, as if it were one factor per channel."""
    net = Net(x=(1, 4, 4, 4))
    y = {
        "conv": lambda: net.conv("x", 4, 3),
        "conv_transpose": lambda: net("conv_transpose", "x", normal(4, 4, 1, 1)),
        "batch_normalization": lambda: net.batch_norm("x"),
    }[before]()
    net.program.outputs = [net(type, y, np.abs(normal(*shape)) + np.float32(0.5))]
    check_with_runtime(net.program, tmp_path / "net.prototxt")
