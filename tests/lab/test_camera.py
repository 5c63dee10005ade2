"""The conversion of camera frames beside ncnn's, without compiling it, and the way to boxes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.camera import boxes, ncnn
from lab.camera.measure import picture
from trimtab import attach_head, load
from trimtab.camera import attach
from trimtab.errors import UsageError
from trimtab.progress import SILENT
from trimtab.session import Session


def test_the_operator_takes_at_most_half_of_the_instructions_of_ncnn() -> None:
    (row,) = ncnn.NCNN.rows()
    assert 0 < row.ratio <= ncnn.BAR


def test_a_folder_that_is_no_checkout_of_ncnn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a checkout of ncnn"):
        ncnn.measure(tmp_path, SILENT)


def test_about_a_hundred_candidates_pass_the_threshold_of_a_detector() -> None:
    network, head = load("yolo_fastest"), boxes.DETECTORS["yolo_fastest"]
    camera = boxes.camera_of(network)
    assert camera.size == (320, 320)
    pixels = picture(camera)
    score = boxes.threshold(network, camera, head, pixels)
    behind = attach_head(attach(network, camera), head, score=score, iou=1.0)
    assert 80 <= int(Session(behind, cache=False).run(pixels)["count"][0]) <= 120


def test_ratios_are_those_of_the_whole_to_the_network() -> None:
    row = boxes.CameraBoxesRow("a", "yolov8", 0.5, 10.0, 10.4, 50_000_000, 51_000_000)
    assert (row.time_ratio, row.count_ratio) == pytest.approx((1.04, 1.02))
    printed = boxes.CameraBoxesRow.table([row]).text()
    assert "1.040" in printed
    assert "51.00" in printed
