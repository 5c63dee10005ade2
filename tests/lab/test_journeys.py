"""The comparison of a package's boxes with those of trimtab, on boxes drawn by hand."""

from __future__ import annotations

import numpy as np

from lab.journeys.measure import compare


def test_boxes_are_equal_by_overlap_or_by_edges_and_only_within_their_class() -> None:
    theirs = np.array([[0, 0, 100, 100, 0], [50, 50, 60, 60, 1], [0, 0, 40, 40, 2]], float)
    ours = np.array(
        [
            [0, 0, 100, 100.5, 0.9, 0],  # overlaps by 0.995
            [50, 50, 61, 61, 0.8, 1],  # by 0.83, and within a pixel
            [0, 0, 40, 60, 0.7, 2],  # by 0.67
            [0, 0, 40, 40, 0.6, 3],  # of another class
        ]
    )
    assert compare([theirs], [ours]) == (3, 2, 3, 1)
    nothing = np.zeros((0, 5)), np.zeros((0, 6))
    assert compare([theirs, nothing[0]], [nothing[1], ours]) == (3, 0, 0, 4)
    assert compare([nothing[0]], [nothing[1]]) == (0, 0, 0, 0)
