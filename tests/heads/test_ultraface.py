"""UltraFace's exports with and without postprocessing, beside the formulas of its authors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import trimtab
from tests.heads import reference
from tests.heads.reference import Array
from tests.small_programs import Net
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest, prove

SIZE = (96, 128)  # height, width
SIDES = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}


def priors() -> Array:
    """The priors of generate_priors in the authors' box_utils.py."""
    height, width = SIZE
    rows = [
        ((x + 0.5) * step / width, (y + 0.5) * step / height, side / width, side / height)
        for step, sides in SIDES.items()
        for y, x in product(range(-(-height // step)), range(-(-width // step)))
        for side in sides
    ]
    return np.asarray(np.clip(rows, 0, 1))


def raw_network(order: str = "scores, boxes") -> trimtab.Program:
    """Convolutions of each stride, moved to [1, places, 2] and [1, places, 4]."""
    rng, net = np.random.default_rng(3), Net(image=(1, 3, *SIZE))
    ends: dict[str, list[str]] = {"scores": [], "boxes": []}
    for step, sides in SIDES.items():
        for name, values in (("scores", 2), ("boxes", 4)):
            weights = rng.standard_normal((len(sides) * values, 3, step, step)) / step
            bias = rng.standard_normal(len(weights)).astype(np.float32)
            below = -SIZE[0] % step
            x = net(
                *("conv", "image", weights.astype(np.float32), bias),
                strides=(step, step), pads=(0, 0, below, 0),
            )  # fmt: skip
            x = net("transpose", x, permutation=(0, 2, 3, 1))
            places = net.program.vars[x].shape[1] * net.program.vars[x].shape[2] * len(sides)
            ends[name].append(net("reshape", x, shape=(1, places, values)))
    whole = {name: net("concat", *parts, axis=1) for name, parts in ends.items()}
    whole["scores"] = net("softmax", whole["scores"], axis=-1)
    return net.finish(*(whole[name] for name in order.split(", ")))


@pytest.mark.parametrize("order", ["scores, boxes", "boxes, scores"])
def test_offsets_of_an_export_without_postprocessing_are_decoded(order: str) -> None:
    program = raw_network(order)
    image = np.random.default_rng(4).random((1, 3, *SIZE), np.float32)
    raw = trimtab.Session(program, cache=False).run({"image": image})
    scores, offsets = sorted(raw.values(), key=lambda values: values.shape[2])
    results = trimtab.Session(
        trimtab.attach_head(program, "ultraface", score=0.6, max_boxes=500), cache=False
    ).run({"image": image})
    p, loc = priors(), offsets[0].astype(float)
    centers = p[:, :2] + loc[:, :2] * 0.1 * p[:, 2:]
    boxes = np.concatenate([centers, p[:, 2:] * np.exp(loc[:, 2:] * 0.2)], 1)
    corners = reference.corners(boxes) * ([SIZE[1], SIZE[0]] * 2)
    expected = reference.detections(corners, scores[0] * [0, 1], 0.6, limit=500)
    count = int(results["count"][0])
    assert count == len(expected) > 3
    np.testing.assert_allclose(results["boxes"][0, :count], expected, 1e-3, 2e-2)


def test_values_that_are_no_corners_are_refused() -> None:
    program = raw_network()
    scores, boxes = program.outputs
    program.outputs = [scores, *program.block.add_op("tanh", [boxes])]
    with pytest.raises(UsageError, match=r"right and bottom of .* are before left and top"):
        prove(program, HeadRequest("ultraface"))
