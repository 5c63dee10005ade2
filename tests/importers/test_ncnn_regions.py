"""Regions of two-stage detectors against ncnn itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.ncnn_writer import Param, head, line, run_ncnn, write
from tests.ops.cases.case import Array
from trimtab.errors import ImportModelError

PLAIN: dict[int, Param] = {2: 100, 3: 20}


def lines(size: tuple[int, int], params: dict[int, Param] | None = None) -> list[str]:
    """A network of one Proposal for a feature map of this size."""
    shapes = {"scores": (18, *size), "offsets": (36, *size), "frame": (3,)}
    values = PLAIN if params is None else params
    return [*head(shapes), line("Proposal", "scores offsets frame", "regions best", values)]


def _inputs(size: tuple[int, int], frame: tuple[float, float, float]) -> dict[str, Array]:
    return {
        "scores": random(18, *size, seed=1, low=-2, high=2),
        "offsets": random(36, *size, seed=2, low=-0.5, high=0.5),
        "frame": np.array(frame, np.float32),
    }


def _run(path: Path, inputs: dict[str, Array]) -> dict[str, Array]:
    batch = {name: value[np.newaxis] for name, value in inputs.items()}
    return dict(trimtab.Session(trimtab.load(path)).run(batch))


CASES: dict[str, tuple[dict[int, Param], tuple[float, float, float]]] = {
    "plain": (PLAIN, (112.0, 144.0, 1.0)),
    "scaled": (PLAIN, (112.0, 144.0, 2.5)),
    "large": ({2: 400, 3: 60, 4: 0.5, 5: 3}, (300.0, 200.0, 1.0)),
    "all": ({2: 0, 3: 500, 4: 0.9, 5: 2}, (112.0, 144.0, 1.0)),
    "cells": ({0: 8, 1: 12, 2: 200, 3: 30, 4: 0.3}, (70.0, 80.0, 0.5)),
    "narrow": ({2: 50, 3: 50, 4: 0.9, 5: 30}, (44.0, 60.0, 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_regions_are_those_of_ncnn(name: str, tmp_path: Path) -> None:
    params, frame = CASES[name]
    path, inputs = write(tmp_path, lines((7, 9), params)), _inputs((7, 9), frame)
    regions, best = run_ncnn(path, inputs, ["regions", "best"])
    actual = _run(path, inputs)
    assert len(regions) > 3
    for own, expected in ((actual["regions"][0], regions), (actual["best"][0], best)):
        assert own.shape[1:] == expected.shape[1:]
        np.testing.assert_allclose(own[: len(expected)], expected, 1e-5, 1e-4)
        assert (own[len(expected) :] == -1).all()


def test_a_pool_reads_the_first_region(tmp_path: Path) -> None:
    inputs = _inputs((7, 9), CASES["plain"][1]) | {"features": random(4, 7, 9, seed=3)}
    text = [*head({"features": (4, 7, 9)}), *lines((7, 9))]
    pool: dict[int, Param] = {0: 3, 1: 2, 2: 0.0617, 5: 1}
    path = write(tmp_path, [*text, line("ROIAlign", "features regions", "y", pool)])
    (expected,) = run_ncnn(path, inputs, ["y"])
    np.testing.assert_allclose(_run(path, inputs)["y"][0], expected, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("params", "match"),
    [({0: 0}, "its stride is 0"), ({1: 0}, "its base size 0"), ({3: 0}, "it keeps 0")],
)
def test_malformed_parameters_are_refused(
    params: dict[int, Param], match: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportModelError, match=match):
        trimtab.load(write(tmp_path, lines((2, 3), params)))


def test_scores_of_other_anchors_are_refused(tmp_path: Path) -> None:
    shapes = {"scores": (12, 2, 3), "offsets": (24, 2, 3), "frame": (3,)}
    layer = line("Proposal", "scores offsets frame", "y", PLAIN)
    with pytest.raises(ImportModelError, match=r"its scores has shape \[1, 12, 2, 3\]"):
        trimtab.load(write(tmp_path, [*head(shapes), layer]))
