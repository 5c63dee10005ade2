"""GridSample: all modes and paddings, places inside, outside and far away."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, case, normal


def cases() -> Iterator[Case]:
    """The cross product of modes, paddings and alignments, for growing and shrinking."""
    for mode, padding, aligned in itertools.product(
        ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        for name, x, size in (
            ("grow", (2, 3, 5, 7), (9, 11)),
            ("shrink", (1, 17, 8, 6), (3, 2)),
            ("line", (1, 2, 1, 9), (4, 5)),
        ):
            grid = np.asarray(normal(x[0], *size, 2, seed="grid") * 0.8, np.float32)
            yield case(
                f"{mode}-{padding}-{aligned}-{name}",
                "GridSample",
                *(normal(*x), grid),
                opset=20,
                mode=mode,
                padding_mode=padding,
                align_corners=aligned,
            )
    far = np.asarray(normal(1, 4, 4, 2, seed="far") * 20, np.float32)
    for padding in ("zeros", "border", "reflection"):
        yield case(f"far-{padding}", "GridSample", normal(1, 2, 5, 6), far, padding_mode=padding)
    yield case("bicubic", "GridSample", normal(1, 2, 5, 6), far / 20, mode="bicubic")
