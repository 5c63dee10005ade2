"""Heads with keypoints, masks or priors, and those of grids, beside formulas of their papers in
numpy and OpenCV's suppression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.heads import detectors, reference
from tests.heads.on_arrays import SCORE, SIZE, check, run, selected
from tests.heads.reference import Array
from tests.ops import oracle
from tests.some import some
from trimtab.errors import UsageError


def random_boxes(count: int, seed: int = 1) -> Array:
    """x, y, width, height in pixels."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 1, (count, 2)) * SIZE[::-1]
    return np.concatenate([centers, rng.uniform(5, 40, (count, 2))], 1).astype(np.float32)


def test_keypoints_of_yolov8_belong_to_the_boxes_that_remain() -> None:
    rng = np.random.default_rng(2)
    boxes, scores = random_boxes(200), rng.random((200, 1)).astype(np.float32)
    points = rng.uniform(0, 100, (200, 17 * 3)).astype(np.float32)
    x = np.concatenate([boxes, scores, points], 1).T[None]
    results = run("yolov8_pose", {"out": x})
    chosen = selected(reference.corners(boxes), scores)
    check(results, reference.corners(boxes), scores, chosen)
    np.testing.assert_array_equal(
        results["points"][0, : len(chosen)], points[chosen].reshape(-1, 17, 3)
    )
    mapped = run("yolov8_pose", {"out": x}, scale=(2, 3), offset=(1, -4))["points"]
    expected = points[chosen].reshape(-1, 17, 3) * [2, 3, 1] + [1, -4, 0]
    np.testing.assert_allclose(mapped[0, : len(chosen)], expected, 1e-5)
    first, other = x[:, :, rng.permutation(200)] + np.float32(0.25), x
    both = run("yolov8_pose", {"out": np.concatenate([first, other])})
    for image, one in enumerate((first, other)):
        alone, count = run("yolov8_pose", {"out": one}), int(both["count"][image])
        assert count == int(alone["count"][0])
        np.testing.assert_array_equal(both["points"][image, :count], alone["points"][0, :count])


@pytest.mark.parametrize("mapping", [{}, {"scale": (2, 3), "offset": (1, -4)}])
def test_masks_of_yolov8_are_products_with_prototypes_within_boxes(mapping: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    boxes, scores = random_boxes(150), rng.random((2, 150, 5)).astype(np.float32) ** 2
    factors = rng.standard_normal((2, 150, 8)).astype(np.float32)
    prototypes = rng.standard_normal((2, 8, 24, 32)).astype(np.float32)
    x = np.concatenate([np.stack([boxes] * 2), scores, factors], 2).transpose(0, 2, 1)
    corners = reference.corners(boxes)
    for images in (slice(0, 1), slice(1, 2), slice(0, 2)):
        results = run("yolov8_seg", {"out": x[images], "protos": prototypes[images]}, **mapping)
        for at, image in some(enumerate(range(2)[images])):
            chosen = selected(corners, scores[image])
            if images == slice(0, 1) and not mapping:
                check(results, corners, scores[image], chosen)
            masks = np.einsum("rm,mhw->rhw", factors[image, chosen], prototypes[image])
            expected = reference.cropped(reference.sigmoid(masks), corners[chosen] / 4)
            actual = results["masks"][at, : len(chosen)]
            np.testing.assert_allclose(actual, expected, 1e-4, 1e-5)
            assert 0 < (actual == 0).mean() < 1


@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("form", ["recognized", "pairs", "joined", "flat"])
@pytest.mark.parametrize("head", ["yolov8_pose", "yolov8_seg"])
def test_raw_tensors_have_the_results_of_decoded_ones(head: str, form: str, images: int) -> None:
    """The decoded output is onnxruntime's; behind it, the head has an oracle above."""
    kind: Any = {"points": 5} if head == "yolov8_pose" else {"factors": 7}
    classes = 1 if head == "yolov8_pose" else 3
    model = detectors.yolov8(classes, bias=-1.0, images=images, **kind)
    x = np.random.default_rng(5).standard_normal((images, 3, 96, 64)).astype(np.float32)
    outputs = oracle.run(model, {"images": x})
    last = [] if head == "yolov8_pose" else ["prototypes"]
    arrays = {name: outputs[name] for name in ("output0", *last)}
    expected = run(head, arrays, (96, 64))
    program = trimtab.load(model)
    levels = [[f"{part}{i}" for part in ("boxes", "classes", "more")] for i in range(3)]
    if form == "joined":
        for level in levels:
            level[:2] = program.block.add_op("concat", level[:2], {"axis": 1})
    tensors = {
        "recognized": ["output0"],
        "flat": [n for level in levels for n in level[:2]] + ["more"],
    }
    program.keep_only([*last, *tensors.get(form, [name for level in levels for name in level])])
    behind = trimtab.attach_head(program, head, score=SCORE)
    if form == "recognized":
        assert "softmax" not in [op.type for op in behind.ops]
    actual = trimtab.Session(behind, cache=False).run(x)
    assert (actual["count"] == expected["count"]).all()
    assert (actual["count"] > 3).all()
    for image, count in enumerate(actual["count"]):
        for name in {*expected} - {"count"}:
            pair = actual[name][image, :count], expected[name][image, :count]
            np.testing.assert_allclose(*pair, 1e-4, 1e-3)


@pytest.mark.parametrize("form", ["chosen", "decoded"])
def test_boxes_of_yolov10_are_not_suppressed(form: str) -> None:
    rng = np.random.default_rng(4)
    boxes, scores = random_boxes(60), rng.random((60, 3)).astype(np.float32)
    best = np.argsort(-scores.max(1), kind="stable")
    corners = reference.corners(boxes)
    if form == "chosen":
        rows = [corners[best], scores[best].max(1)[:, None], scores[best].argmax(1)[:, None]]
        x = np.concatenate(rows, 1)[None]
    else:
        x = np.concatenate([boxes, scores], 1).T[None]
    chosen = best[scores[best].max(1) > SCORE]
    check(run("yolov10", {"out": x}), corners, scores, chosen)


def test_boxes_of_ultraface_are_relative_to_the_image() -> None:
    rng = np.random.default_rng(5)
    corners, scores = reference.corners(random_boxes(300)), rng.random((300, 2))
    relative = corners / ([SIZE[1], SIZE[0]] * 2)
    results = run("ultraface", {"scores": scores[None], "corners": relative[None]})
    faces = scores * [0, 1]
    check(results, corners, faces, selected(corners, faces))


def test_a_networks_own_tensors_may_have_the_names_of_results() -> None:
    rng = np.random.default_rng(5)
    corners, scores = reference.corners(random_boxes(300)), rng.random((1, 300, 2))
    program = trimtab.Program("net")
    program.add_input("image", (1, 3, *SIZE))
    for name, shape in (("a", (1, 300, 2)), ("b", (1, 300, 4))):
        program.add_input(name, shape)
    program.block.add_op("relu", ["a"], outputs=["scores"])
    program.block.add_op("neg", ["b"], outputs=["boxes"])
    program.outputs = ["scores", "boxes"]
    behind = trimtab.attach_head(program, "ultraface", score=SCORE)
    assert behind.outputs == ["boxes", "count"]
    relative = (-corners / ([SIZE[1], SIZE[0]] * 2))[None]
    feeds = {"image": np.zeros((1, 3, *SIZE)), "a": scores, "b": relative}
    results = trimtab.Session(behind, cache=False).run(
        {name: array.astype(np.float32) for name, array in feeds.items()}
    )
    faces = scores[0] * [0, 1]
    check(results, corners, faces, selected(corners, faces))


def test_faces_of_retinaface_are_offsets_from_its_priors() -> None:
    rng = np.random.default_rng(6)
    priors = []
    for step, sides in ((8, (16, 32)), (16, (64, 128)), (32, (256, 512))):
        for i in range(SIZE[0] // step):
            for j in range(SIZE[1] // step):
                center = (j + 0.5) * step / SIZE[1], (i + 0.5) * step / SIZE[0]
                priors += [(*center, s / SIZE[1], s / SIZE[0]) for s in sides]
    p, n = np.array(priors), len(priors)
    loc, marks = rng.standard_normal((n, 4)), rng.standard_normal((n, 10))
    faces = rng.random((n, 1)) ** 3
    centers = p[:, :2] + loc[:, :2] * 0.1 * p[:, 2:]
    boxes = np.concatenate([centers, p[:, 2:] * np.exp(loc[:, 2:] * 0.2)], 1)
    corners = reference.corners(boxes) * ([SIZE[1], SIZE[0]] * 2)
    scores = np.concatenate([1 - faces, faces], 1)
    arrays = {"loc": loc[None], "conf": scores[None], "landms": marks[None]}
    results = run("retinaface", arrays)
    only = np.concatenate([faces * 0, faces], 1)
    chosen = selected(corners, only)
    check(results, corners, only, chosen)
    points = p[:, None, :2] + marks.reshape(n, 5, 2) * 0.1 * p[:, None, 2:]
    expected = points[chosen] * SIZE[::-1]
    np.testing.assert_allclose(results["points"][0, : len(chosen), :, :2], expected, 1e-4, 1e-3)
    assert (results["points"][0, : len(chosen), :, 2] == 1).all()


# Strides and boxes of a cell, of the graphs in mediapipe/modules: face_detection (short range, of
# the back camera, full range), palm_detection and pose_detection.
BLAZE = [
    (128, ((8, 2), (16, 6)), 6), (256, ((16, 2), (32, 6)), 6), (192, ((4, 1),), 6),
    (192, ((8, 2), (16, 6)), 7), (224, ((8, 2), (16, 2), (32, 6)), 4),
]  # fmt: skip


@pytest.mark.parametrize(("side", "grids", "points"), BLAZE)
def test_boxes_of_blazeface_are_relative_to_the_middle_of_their_cell(
    side: int, grids: tuple[tuple[int, int], ...], points: int
) -> None:
    rng = np.random.default_rng(7)
    anchors = [((j + 0.5) * s, (i + 0.5) * s) for s, n in grids
               for i in range(side // s) for j in range(side // s) for _ in range(n)]  # fmt: skip
    a = np.array(anchors)
    raw = rng.uniform(-20, 20, (2, len(a), 4 + 2 * points)).astype(np.float32)
    raw[..., 2:4] = abs(raw[..., 2:4]) + 4
    logits = rng.standard_normal((2, len(a), 1)) - 2
    options: dict[str, Any]
    for images, options in ((1, {}), (2, {"scale": (2.0, 2.0), "offset": (1.0, -4.0)})):
        arrays: dict[str, Array] = {"values": raw[:images], "scores": logits[:images]}
        results = run("blazeface", arrays, (side, side), **options)
        scale, shift = options.get("scale", (1, 1)), options.get("offset", (0, 0))
        for at in some(range(images)):
            boxes = np.concatenate([a + raw[at, :, :2], raw[at, :, 2:4]], 1)
            scores = reference.sigmoid(logits[at])
            corners = reference.corners(boxes)
            chosen = selected(corners, scores)[:300]
            count = int(results["count"][at])
            assert count == len(chosen) > 3
            rows = results["boxes"][at, :count, :4]
            mapped = corners[chosen].reshape(-1, 2, 2) * scale + shift
            np.testing.assert_allclose(rows.reshape(-1, 2, 2), mapped, 1e-4, 1e-3)
            places = a[:, None] + raw[at, :, 4:].reshape(-1, points, 2)
            actual = results["points"][at, :count]
            np.testing.assert_allclose(actual[..., :2], places[chosen] * scale + shift, 1e-4, 1e-3)
            assert (actual[..., 2] == 1).all()


def test_grids_of_blazeface_cost_a_byte_for_each_coordinate() -> None:
    program = trimtab.Program("faces")
    shapes = {"image": (1, 3, 128, 128), "values": (1, 896, 16), "scores": (1, 896, 1)}
    for name, shape in shapes.items():
        program.add_input(name, shape)
    program.outputs = ["values", "scores"]
    variables = trimtab.attach_head(program, "blazeface").vars.values()
    stored = [var.data.nbytes for var in variables if var.data is not None]
    assert max(stored) == 896 * 2
    assert sum(stored) < 896 * 2 + 100


def test_boxes_of_centernet_are_at_maxima_of_the_heat_map() -> None:
    rng = np.random.default_rng(8)
    heat = rng.standard_normal((3, 24, 32)) * 2
    sizes, offsets = rng.uniform(1, 9, (2, 24, 32)), rng.random((2, 24, 32))
    arrays = {"heat": heat[None], "size": sizes[None], "offset": offsets[None]}
    rows = []
    for c, y, x in np.ndindex(*heat.shape):
        window = heat[c, max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        score = float(reference.sigmoid(heat[c, y, x]))
        if heat[c, y, x] == window.max() and score > SCORE:
            center, half = offsets[:, y, x] + [x, y], sizes[:, y, x] / 2
            rows.append([*(center - half) * 4, *(center + half) * 4, score, c])
    expected = np.array(sorted(rows, key=lambda row: -row[4]))[:300]
    results = run("centernet", arrays)
    count = int(results["count"][0])
    assert count == len(expected) > 20
    np.testing.assert_allclose(results["boxes"][0, :count], expected, 1e-4, 1e-3)


def test_scores_of_fcos_are_roots_of_products() -> None:
    rng = np.random.default_rng(9)
    arrays: dict[str, Array] = {}
    boxes, scores = [], []
    for step in (8, 16):
        h, w = SIZE[0] // step, SIZE[1] // step
        cls, ctr = rng.standard_normal((5, h, w)), rng.standard_normal((1, h, w))
        sides = rng.uniform(0.2, 3, (4, h, w))
        arrays |= {f"c{step}": cls[None], f"b{step}": sides[None], f"o{step}": ctr[None]}
        y, x = (np.mgrid[:h, :w] + 0.5) * step
        corners = [x - sides[0] * step, y - sides[1] * step, x + sides[2] * step,
                   y + sides[3] * step]  # fmt: skip
        boxes.append(np.stack(corners, -1).reshape(-1, 4))
        product = reference.sigmoid(cls) * reference.sigmoid(ctr)
        scores.append(np.sqrt(product).reshape(5, -1).T)
    joined, values = np.concatenate(boxes), np.concatenate(scores)
    check(run("fcos", arrays), joined, values, selected(joined, values))


@pytest.mark.parametrize("classes", [1, 4, 5])
def test_distances_of_rtmdet_are_pixels_from_the_corner_of_a_cell(classes: int) -> None:
    rng = np.random.default_rng(10)
    arrays: dict[str, Array] = {}
    boxes, scores = [], []
    for step in (8, 16):
        h, w = SIZE[0] // step, SIZE[1] // step
        cls, sides = rng.standard_normal((classes, h, w)), rng.uniform(2, 40, (4, h, w))
        arrays |= {f"c{step}": cls[None], f"b{step}": sides[None]}
        y, x = np.mgrid[:h, :w] * step
        corners = np.stack([x - sides[0], y - sides[1], x + sides[2], y + sides[3]], -1)
        boxes.append(corners.reshape(-1, 4))
        scores.append(reference.sigmoid(cls).reshape(classes, -1).T)
    joined, values = np.concatenate(boxes), np.concatenate(scores)
    check(run("rtmdet", arrays), joined, values, selected(joined, values))


def test_boxes_of_ssd_are_offsets_from_the_anchors_of_tensorflow() -> None:
    """The formula and the anchors of the detection API for an image of 300 x 300, in 6 levels."""
    rng = np.random.default_rng(10)
    scales = [0.2 + 0.15 * i for i in range(6)] + [1.0]
    rows = []
    for level, grid in enumerate((19, 10, 5, 3, 2, 1)):
        pairs = [(scales[level], r) for r in (1.0, 2.0, 0.5, 3.0, 1 / 3)]
        pairs += [((scales[level] * scales[level + 1]) ** 0.5, 1.0)]
        if level == 0:
            pairs = [(0.1, 1.0), (0.2, 2.0), (0.2, 0.5)]
        for y, x in np.ndindex(grid, grid):
            rows += [((y + 0.5) / grid, (x + 0.5) / grid, s / r**0.5, s * r**0.5)
                     for s, r in pairs]  # fmt: skip
    anchors = np.array(rows)
    assert len(anchors) == 1917
    raw, logits = rng.standard_normal((1917, 4)), rng.standard_normal((1917, 4)) * 1.2 - 3
    center = raw[:, :2] / 10 * anchors[:, 2:] + anchors[:, :2]
    half = np.exp(raw[:, 2:] / 5) * anchors[:, 2:] / 2
    corners = np.concatenate([center - half, center + half], 1)[:, [1, 0, 3, 2]] * 300
    scores = reference.sigmoid(logits)
    scores[:, 0] = 0
    arrays = {"boxes.in": raw[None], "scores": logits[None]}
    arrays["scores"] = np.concatenate([logits, logits[:, :1] * 0 - 9], 1)[None]
    scores = np.concatenate([scores, np.full((1917, 1), 1e-4)], 1)
    check(run("ssd", arrays, (300, 300)), corners, scores, selected(corners, scores))


def test_keypoints_of_movenet_are_in_pixels_with_x_first() -> None:
    x = np.random.default_rng(11).random((1, 1, 17, 3))
    points = run("movenet", {"out": x})["points"]
    expected = x[0, 0][:, [1, 0, 2]] * [SIZE[1], SIZE[0], 1]
    np.testing.assert_allclose(points[0, 0], expected, 1e-5)


@pytest.mark.parametrize("is_x_first", [True, False])
def test_keypoints_of_simcc_are_at_the_highest_places_of_both_sides(is_x_first: bool) -> None:
    """get_simcc_maximum of mmpose and rtmlib, and their split ratio of 2."""
    rng = np.random.default_rng(14)
    x, y = rng.random((2, 17, 2 * SIZE[1])), rng.random((2, 17, 2 * SIZE[0]))
    arrays: dict[str, Array] = {"x": x, "y": y} if is_x_first else {"y": y, "x": x}
    points = run("simcc", arrays)["points"]
    assert points.shape == (2, 1, 17, 3)
    expected = np.stack([x.argmax(2), y.argmax(2)], -1) / 2
    np.testing.assert_array_equal(points[:, 0, :, :2], expected)
    np.testing.assert_allclose(points[:, 0, :, 2], np.minimum(x.max(2), y.max(2)), 1e-6)


@pytest.mark.parametrize("is_last", [False, True])
def test_keypoints_of_posenet_are_at_the_maxima_of_its_maps(is_last: bool) -> None:
    """The formula of the paper: the best cell times the output stride, plus its offset."""
    rng = np.random.default_rng(12)
    heat, offsets = rng.standard_normal((2, 5, 4, 5)), rng.uniform(-20, 20, (2, 10, 4, 5))
    arrays = {"heat": heat, "offsets": offsets, "forward": rng.random((2, 8, 4, 5))}
    if is_last:
        arrays = {name: array.transpose(0, 2, 3, 1) for name, array in arrays.items()}
    expected = np.empty((2, 1, 5, 3))
    for image, k in np.ndindex(2, 5):
        y, x = np.unravel_index(heat[image, k].argmax(), (4, 5))
        place = np.array([x * 8, y * 8]) + offsets[image, [k + 5, k], y, x]
        expected[image, 0, k] = [*place, reference.sigmoid(heat[image, k, y, x])]
    points = run("posenet", arrays, (25, 33))["points"]
    np.testing.assert_allclose(points, expected, 1e-5, 1e-4)
    mapped = run("posenet", arrays, (25, 33), scale=(2, 3), offset=(1, -4))["points"]
    np.testing.assert_allclose(mapped, expected * [2, 3, 1] + [1, -4, 0], 1e-5, 1e-4)


def test_scores_of_posenet_that_the_network_computes_are_probabilities_already() -> None:
    program = trimtab.load("posenet")
    behind = trimtab.attach_head(program, "posenet")
    assert [op.type for op in behind.ops].count("sigmoid") == 1
    assert [behind.vars[name].shape for name in behind.outputs] == [(1, 1, 17, 3)]


@pytest.mark.parametrize(
    "head",
    ["yolov8_pose", "yolov8_seg", "yolov10", "ultraface", "retinaface", "blazeface", "centernet",
     "fcos", "rtmdet", "scrfd", "simcc", "ssd", "movenet", "posenet", "posenet_multi",
     "yunet"],
)  # fmt: skip
@pytest.mark.parametrize("shapes", [[(1, 7)], [(1, 3, 4, 4)] * 2, [(1, 5, 4), (1, 6, 9)]])
def test_other_tensors_are_refused_by_name(head: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(UsageError, match=f"{head} expects"):
        run(head, {f"x{i}": np.zeros(shape) for i, shape in enumerate(shapes)})
