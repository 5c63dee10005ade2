"""Accuracy on labeled pictures, with networks whose answers are known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from trimtab import camera, labels
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.labels import LabeledFolder
from trimtab.labels.folder import LabeledBox
from trimtab.planner.plan_file import Plan
from trimtab.program import Program

CAMERA = camera.parse("camera(nv12, 64x64) | letterbox(auto, 114) | rgb | scale(1/255)")


def means(size: int = 16) -> Program:
    """Scores are the means of the red, green and blue channel."""
    program = Program("means")
    program.add_input("x", (1, 3, size, size))
    mean = program.block.make_op("global_average_pool", ["x"], {}, ["mean"])
    rows = program.block.make_op("reshape", ["mean"], {"shape": (1, 3)}, ["scores"])
    program.block.ops = [mean, rows]
    program.outputs = ["scores"]
    return program


def colored(folder: Path, sizes: dict[tuple[int, int], tuple[int, int, int]]) -> list[Path]:
    paths = []
    for (width, height), color in sizes.items():
        paths.append(folder / f"{width}x{height}.png")
        Image.new("RGB", (width, height), color).save(paths[-1])
    return paths


def test_pictures_of_any_size_have_the_class_of_their_color(tmp_path: Path) -> None:
    red, green, other = colored(
        tmp_path, {(40, 30): (255, 0, 0), (31, 57): (0, 200, 9), (17, 5): (0, 0, 250)}
    )
    folder = LabeledFolder(tmp_path, {red: 0, green: 1, other: 1}, {})
    score = labels.score(means(), CAMERA, None, folder)
    assert (score.pictures, score.top1) == (3, 2 / 3)
    assert str(score) == "top-1 66.7% of 3 pictures"


def boxes_of(*rows: tuple[float, ...]) -> Program:
    """A decoded YOLOv5 output [1, n, 5 + 2], to which the picture adds its mean."""
    program = Program("boxes")
    program.add_input("x", (1, 3, 64, 64))
    values = np.array([rows], np.float32)
    block = program.block
    values_name = block.add_constant(values)
    ops = [
        block.make_op("global_average_pool", ["x"], {}, ["mean"]),
        block.make_op("reduce_mean", ["mean"], {"axes": (1,)}, ["one"]),
    ]
    ops.append(block.make_op("reshape", ["one"], {"shape": (1, 1, 1)}, ["scalar"]))
    ops.append(block.make_op("add", [values_name, "scalar"], {}, ["out"]))
    block.ops = ops
    program.outputs = ["out"]
    return program


def test_boxes_are_compared_in_the_pixels_of_each_picture(tmp_path: Path) -> None:
    # Black pictures of 128x64 in an input of 64x64: half the size, below 16 gray rows.
    (path,) = colored(tmp_path, {(128, 64): (0, 0, 0)})
    view = camera.parse("camera(rgb, 64x64) | letterbox(auto, 0) | rgb | scale(1/255)")
    # The center (16, 32), 16x8 of the input is (32, 32), 32x16 of the picture; class 1.
    program = boxes_of((16, 32, 16, 8, 1, 0, 0.9))
    right = LabeledBox(1, 32 / 128, 32 / 64, 32 / 128, 16 / 64)
    head = HeadRequest.parse("yolov5")
    score = labels.score(program, view, head, LabeledFolder(tmp_path, {}, {path: [right]}))
    assert score.mean_ap == pytest.approx(1)
    wrong = LabeledBox(0, right.x, right.y, right.width, right.height)
    score = labels.score(program, view, head, LabeledFolder(tmp_path, {}, {path: [wrong]}))
    assert (score.mean_ap, score.ap_at_half) == (0, 0)


def test_boxes_that_exceed_the_picture_end_at_its_edges(tmp_path: Path) -> None:
    (path,) = colored(tmp_path, {(128, 64): (0, 0, 0)})
    view = camera.parse("camera(rgb, 64x64) | letterbox(auto, 0) | rgb | scale(1/255)")
    # Corners of the input of half the size, whose rows 16 to 48 have the picture.
    program = boxes_of((0, 16, 4, 4, 1, 0.9, 0), (64, 48, 4, 4, 1, 0, 0.9))
    truth = [
        LabeledBox(0, 2 / 128, 2 / 64, 4 / 128, 4 / 64),
        LabeledBox(1, 126 / 128, 62 / 64, 4 / 128, 4 / 64),
    ]
    folder = LabeledFolder(tmp_path, {}, {path: truth})
    assert labels.score(program, view, HeadRequest.parse("yolov5"), folder).mean_ap == 1


@pytest.mark.parametrize("shapes", [[(1, 3, 16, 16)] * 2, [(1, 3, 16)], [(2, 3, 16, 16)]])
def test_labeled_pictures_need_one_input_of_one_picture(
    tmp_path: Path, shapes: list[tuple[int, ...]]
) -> None:
    (path,) = colored(tmp_path, {(9, 9): (0, 0, 0)})
    program = Program("inputs")
    for i, shape in enumerate(shapes):
        program.add_input(f"x{i}", shape)
    whole = {"shape": (1, math.prod(shapes[0]))}
    program.block.ops = [program.block.make_op("reshape", ["x0"], whole, ["scores"])]
    program.outputs = ["scores"]
    with pytest.raises(UsageError, match="one input of one picture"):
        labels.score(program, CAMERA, None, LabeledFolder(tmp_path, {path: 0}, {}))


def test_labels_that_do_not_fit_the_network_are_refused(tmp_path: Path) -> None:
    (path,) = colored(tmp_path, {(9, 9): (0, 0, 0)})
    with pytest.raises(UsageError, match="class 3"):
        labels.score(means(), CAMERA, None, LabeledFolder(tmp_path, {path: 3}, {}))
    with pytest.raises(UsageError, match="no head"):
        labels.score(means(), CAMERA, None, LabeledFolder(tmp_path, {}, {path: []}))


def test_the_plan_decides_the_precision(tmp_path: Path) -> None:
    """A weight of 1 + 2^-12 is 1 in f16, so the first two scores are equal there."""
    program = Program("weights")
    program.add_input("x", (1, 3, 16, 16))
    block = program.block
    first, second = np.zeros((64, 3, 1, 1), np.float32), np.zeros((64, 64, 1, 1), np.float32)
    first[:, 0] = second[0, 0] = 1
    second[1, 1] = 1 + 2.0**-12
    block.ops = [
        block.make_op("conv", ["x", block.add_constant(first)], {}, ["a"]),
        block.make_op("conv", ["a", block.add_constant(second)], {}, ["b"]),
        block.make_op("global_average_pool", ["b"], {}, ["mean"]),
        block.make_op("reshape", ["mean"], {"shape": (1, 64)}, ["scores"]),
    ]
    program.outputs = ["scores"]
    (path,) = colored(tmp_path, {(9, 9): (255, 255, 255)})
    folder = LabeledFolder(tmp_path, {path: 1}, {})
    assert labels.score(program, CAMERA, None, folder).top1 == 1
    assert labels.score(program, CAMERA, None, folder, Plan(precision="f16")).top1 == 0
