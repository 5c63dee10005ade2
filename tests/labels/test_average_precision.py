"""Mean average precision, against pycocotools and cases that are computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.detections import overlaps
from trimtab.labels.average_precision import Array, average_precision

# COCOeval of pycocotools 2.0 on the boxes of `drawn(seed)`: AP, and AP with an overlap of 0.5.
COCO = (
    (0.366820000, 0.599350352),
    (0.369070516, 0.547429302),
    (0.304429604, 0.476189367),
    (0.299591631, 0.441210079),
    (0.284771467, 0.406489677),
    (0.304623130, 0.490916286),
)


def drawn(seed: int, pictures: int = 12, classes: int = 4) -> tuple[list[Array], list[Array]]:
    """Labels, and boxes that are near most of them, elsewhere, or of another class."""
    rng = np.random.default_rng(seed)
    labels, detected = [], []
    for _ in range(pictures):
        n = int(rng.integers(0, 9))
        low = rng.uniform(0, 300, (n, 2))
        size = rng.uniform(50, 150, (n, 2))
        c = rng.integers(0, classes, n)
        truth = np.column_stack([low, low + size, c]).round(2)
        labels.append(truth.reshape(-1, 5))
        near = truth[rng.random(n) < 0.8]
        moved = near[:, :4] + rng.normal(0, 6, (len(near), 4))
        k = int(rng.integers(0, 6))
        corner = rng.uniform(0, 300, (k, 2))
        extra = np.column_stack([corner, corner + rng.uniform(10, 150, (k, 2))])
        boxes = np.concatenate([moved, extra])
        index = np.concatenate([near[:, 4], rng.integers(0, classes, k)])
        index = np.where(rng.random(len(boxes)) < 0.1, (index + 1) % classes, index)
        scores = rng.uniform(0.1, 1, len(boxes))
        detected.append(np.column_stack([boxes, scores, index]).round(4).reshape(-1, 6))
    return labels, detected


@pytest.mark.parametrize("seed", range(len(COCO)))
def test_the_figures_are_those_of_coco(seed: int) -> None:
    precision = average_precision(*drawn(seed))
    assert (precision.mean, precision.at_half) == pytest.approx(COCO[seed], abs=1e-8)


def test_perfect_boxes_have_one_and_none_have_zero() -> None:
    labels = [np.array([[0.0, 0, 10, 10, 3]]), np.empty((0, 5))]
    same = [np.array([[0.0, 0, 10, 10, 0.9, 3]]), np.empty((0, 6))]
    assert average_precision(labels, same).mean == 1
    assert average_precision(labels, [np.empty((0, 6))] * 2).mean == 0
    assert average_precision([np.empty((0, 5))], same[:1]).mean == 0


def test_a_second_box_of_the_same_label_is_wrong() -> None:
    labels = [np.array([[0.0, 0, 10, 10, 0], [50.0, 50, 60, 60, 0]])]
    twice = [np.array([[0.0, 0, 10, 10, s, 0] for s in (0.9, 0.8)] + [[50.0, 50, 60, 60, 0.7, 0]])]
    # Precision is 1 up to half of the recall, then 2 of 3.
    assert average_precision(labels, twice).at_half == pytest.approx((51 + 50 * 2 / 3) / 101)


def test_boxes_without_an_area_overlap_nothing() -> None:
    flat = np.array([[5.0, 5, 5, 9], [9.0, 9, 5, 5]])
    assert not overlaps(flat, np.array([[0.0, 0, 20, 20], [5.0, 5, 5, 9]])).any()


def test_each_overlap_has_its_part_of_the_mean_and_the_lowest_is_the_half() -> None:
    """A box that covers 52 or 67 hundredths of its label counts at one overlap, or at four."""
    labels = [np.array([[0.0, 0, 10, 10, 0]])]
    for height, mean in ((5.2, 0.1), (6.7, 0.4), (4.9, 0.0)):
        precision = average_precision(labels, [np.array([[0.0, 0, 10, height, 0.9, 0]])])
        assert precision.mean == pytest.approx(mean)
        assert precision.at_half == (1.0 if mean else 0.0)
