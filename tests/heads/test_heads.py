"""Heads against numpy references behind onnxruntime's raw results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import trimtab
from tests.heads import detectors, reference
from tests.heads.reference import Array
from tests.ops import oracle
from trimtab import heads
from trimtab.errors import UsageError


def picture(model: onnx.ModelProto, seed: int = 3) -> Array:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    rng = np.random.default_rng(seed)
    return rng.standard_normal([dim.dim_value for dim in dims]).astype(np.float32)


def found(program: trimtab.Program, x: Array) -> list[Array]:
    """The used rows of each image; the others must be 0."""
    results = trimtab.Session(program).run(x)
    boxes, counts = results["boxes"], results["count"]
    for rows, count in zip(boxes, counts, strict=True):
        assert not rows[count:].any()
    return [rows[:count] for rows, count in zip(boxes, counts, strict=True)]


def check(actual: Array, expected: Array) -> None:
    assert len(actual) == len(expected)
    np.testing.assert_array_equal(actual[:, 5], expected[:, 5])
    np.testing.assert_allclose(actual, expected, 1e-4, 2e-3)


@pytest.mark.parametrize("options", [{}, {"agnostic": True}, {"multi_label": True, "iou": 0.7},
                                     {"score": 0.0, "max_boxes": 9}, {"score": 1.0}])  # fmt: skip
@pytest.mark.parametrize("form", ["recognized", "decoded", "raw"])
def test_boxes_of_yolov8_are_those_of_its_reference(form: str, options: dict[str, Any]) -> None:
    model = detectors.yolov8(images=2)
    x = picture(model)
    (output,) = oracle.run(model, {"images": x}).values()
    program = trimtab.load(model)
    if form == "raw":  # one tensor of each level
        joined = [op.outputs[0] for op in program.ops if op.type == "concat"][:3]
        program = trimtab.load(model, outputs=joined)
    if form == "decoded":
        request = heads.HeadRequest.of("yolov8", options)
        program = heads.with_head(program, request)
    else:
        program = trimtab.attach_head(program, "yolov8", **options)
    assert ("softmax" in [op.type for op in program.ops]) == (form == "decoded")
    for rows, image in zip(found(program, x), output, strict=True):
        settings = {"threshold": options.get("score", 0.25), "iou": options.get("iou", 0.45)}
        settings |= {"limit": options.get("max_boxes", 300)}
        settings |= {key: options.get(key, False) for key in ("agnostic", "multi_label")}
        expected = reference.detections(reference.corners(image[:4].T), image[4:].T, **settings)
        assert len(expected) > 3 or options.get("score") == 1.0
        check(rows, expected)


ANCHORS = np.array([10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319], float).reshape(2, 3, 2)
GRIDS = ((8, 6), (4, 3))  # of an input of 128 x 96, with strides 16 and 32


def anchor_network(channels: int) -> tuple[onnx.ModelProto, Array]:
    graph = detectors.Graph(128, 96)
    outputs = {}
    for i, (x, count) in enumerate(detectors.trunk(graph, (16, 32))):
        outputs[f"out{i}"] = graph.conv(x, count, channels, np.zeros(1))
    model = graph.model(**outputs)
    return model, picture(model)


def anchor_boxes(raw: list[Array], classes: int, head: str) -> tuple[Array, Array]:
    """Boxes and scores as in the papers of YOLOv3 and YOLOv4 and the code of YOLOv5."""
    boxes, scores = [], []
    for level, x in enumerate(raw):
        (h, w), step = GRIDS[level], 16 * 2**level
        values = x.astype(np.float64).reshape(3, 5 + classes, h, w).transpose(2, 3, 0, 1)
        cells = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1)[:, :, None]
        center, size = reference.sigmoid(values[..., :2]), values[..., 2:4]
        if head == "yolov5":
            center, size = center * 2 - 0.5, (2 * reference.sigmoid(size)) ** 2
        else:
            scale = 1.05 if head == "yolov4" else 1.0
            center, size = center * scale - (scale - 1) / 2, np.exp(size)
        rows = np.concatenate([(center + cells) * step, size * ANCHORS[level]], -1)
        boxes.append(reference.corners(rows.reshape(-1, 4)))
        product = reference.sigmoid(values[..., 4:5]) * reference.sigmoid(values[..., 5:])
        scores.append(product.reshape(-1, classes))
    return np.concatenate(boxes), np.concatenate(scores)


@pytest.mark.parametrize("head", ["yolov3", "yolov4", "yolov5"])
@pytest.mark.parametrize("multi_label", [False, True])
def test_boxes_of_heads_with_anchors_are_those_of_the_papers(head: str, multi_label: bool) -> None:
    model, x = anchor_network(3 * (5 + 4))
    raw = list(oracle.run(model, {"images": x}).values())
    options: dict[str, Any] = {"multi_label": multi_label, "anchors": ANCHORS.ravel()}
    program = trimtab.attach_head(trimtab.load(model), head, **options)
    boxes, scores = anchor_boxes([y[0] for y in raw], 4, head)
    expected = reference.detections(boxes, scores, multi_label=multi_label)
    assert len(expected) > 5
    check(found(program, x)[0], expected)


def test_boxes_of_yolox_are_those_of_its_reference() -> None:
    graph = detectors.Graph(64, 96)
    levels, rows = [], []
    for step, (level, count) in zip((8, 16, 32), detectors.trunk(graph, (8, 16, 32)), strict=True):
        box, objectness, classes = (graph.conv(level, count, n, np.zeros(1)) for n in (4, 1, 3))
        parts = [box, graph.op("Sigmoid", objectness), graph.op("Sigmoid", classes)]
        shape = graph.constant(np.array([1, 8, -1], np.int64))
        levels.append(graph.op("Reshape", graph.op("Concat", *parts, axis=1), shape))
        grid = np.stack(np.meshgrid(np.arange(96 // step), np.arange(64 // step)), -1)
        rows.append(np.concatenate([grid.reshape(-1, 2), np.full((grid[..., 0].size, 1), step)], 1))
    joined = graph.op("Transpose", graph.op("Concat", *levels, axis=2), perm=[0, 2, 1])
    model = graph.model(output=joined)
    x = picture(model)
    (output,) = oracle.run(model, {"images": x}).values()
    cells = np.concatenate(rows)
    y = output[0].astype(np.float64)
    centers = (y[:, :2] + cells[:, :2]) * cells[:, 2:]
    boxes = reference.corners(np.concatenate([centers, np.exp(y[:, 2:4]) * cells[:, 2:]], 1))
    expected = reference.detections(boxes, y[:, 4:5] * y[:, 5:])
    assert len(expected) > 5
    program = trimtab.load(model)
    check(found(trimtab.attach_head(program, "yolox"), x)[0], expected)
    request = heads.HeadRequest("yolox")
    check(found(heads.with_head(program, request), x)[0], expected)


@pytest.mark.parametrize("head", ["nanodet", "nanodet_plus"])
@pytest.mark.parametrize("form", ["raw", "flat", "parts"])
def test_boxes_of_nanodet_are_those_of_its_reference(head: str, form: str) -> None:
    """`parts`: classes of each level, then boxes of each level, as PaddleDetection exports."""
    graph = detectors.Graph(64, 96)
    levels: list[tuple[str, str]] = []
    parts: dict[str, str] = {}
    for level, channels in detectors.trunk(graph, (8, 16, 32)):
        both = graph.conv(level, channels, 3 + 32, np.zeros(1))
        shape = graph.constant(np.array([1, 35, -1], np.int64))
        scores, sides = graph.split(both, [3, 32], 1)
        scores = graph.op("Sigmoid", scores)
        joined = graph.op("Concat", scores, sides, axis=1)
        for part, values, count in (("classes", scores, 3), ("sides", sides, 32)):
            flat = graph.op("Reshape", values, graph.constant(np.array([1, count, -1])))
            parts[f"{part}{len(levels)}"] = graph.op("Transpose", flat, perm=[0, 2, 1])
        levels.append((both, graph.op("Reshape", joined, shape)))
    rows = graph.op("Concat", *(level for _, level in levels), axis=2)
    rows = graph.op("Transpose", rows, perm=[0, 2, 1])
    outputs = {f"out{i}": raw for i, (raw, _) in enumerate(levels)}
    model = graph.model(**outputs, **parts, rows=rows)
    x, program = picture(model), trimtab.load(model)
    y = oracle.run(model, {"images": x})["rows"][0].astype(np.float64)
    program.keep_only({"raw": [*outputs], "flat": ["rows"], "parts": sorted(parts)}[form])
    actual = found(trimtab.attach_head(program, head, score=0.7), x)[0]
    steps = [(step, 64 // step, 96 // step) for step in (8, 16, 32)]
    grids = [np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1) for _, h, w in steps]
    step = np.concatenate([np.full((h * w, 1), s) for s, h, w in steps])
    points = np.concatenate([grid.reshape(-1, 2) for grid in grids])
    points = points + (0.5 if head == "nanodet" else 0.0)
    bins = np.exp(y[:, 3:].reshape(-1, 4, 8))
    sides = (bins * np.arange(8)).sum(2) / bins.sum(2)
    boxes = np.concatenate([points - sides[:, :2], points + sides[:, 2:]], 1) * step
    expected = reference.detections(boxes, y[:, :3], 0.7)
    assert len(expected) > 5
    check(actual, expected)


@pytest.mark.parametrize("head", ["detr", "rt_detr"])
def test_boxes_of_queries_are_those_of_the_papers(head: str) -> None:
    rng = np.random.default_rng(4)
    scores = (2 * rng.standard_normal((1, 50, 6))).astype(np.float32)
    boxes = rng.uniform(0.1, 0.9, (1, 50, 4)).astype(np.float32)
    program = trimtab.Program(head)
    for name, shape in (
        ("scores", scores.shape),
        ("boxes.in", boxes.shape),
        ("image", (1, 3, 40, 60)),
    ):
        program.add_input(name, shape)
    program.outputs = ["scores", "boxes.in"]
    feeds = {"scores": scores, "boxes.in": boxes, "image": np.zeros((1, 3, 40, 60), np.float32)}
    results = trimtab.Session(trimtab.attach_head(program, head, score=0.5)).run(feeds)
    if head == "detr":
        powers = np.exp(scores[0].astype(np.float64))
        probabilities = (powers / powers.sum(1, keepdims=True))[:, :-1]
    else:
        probabilities = reference.sigmoid(scores[0])
    corners = reference.corners(boxes[0].astype(np.float64)) * np.array([60, 40, 60, 40])
    expected = reference.detections(corners, probabilities, 0.5, 2.0)
    assert len(expected) > 3
    check(results["boxes"][0, : results["count"][0]], expected)


def test_boxes_are_in_the_pixels_of_the_frame_and_inside_it() -> None:
    model = detectors.yolov8()
    x, program = picture(model), trimtab.load(model)
    plain = found(trimtab.attach_head(program, "yolov8"), x)[0]
    options = {"scale": (1 / 2, 1 / 3), "offset": (-2, 3), "frame": (30, 40)}
    mapped = found(trimtab.attach_head(program, "yolov8", **options), x)[0]
    expected = plain.copy()
    expected[:, [0, 2]] = ((plain[:, [0, 2]] - 4) / 2).clip(0, 30)
    expected[:, [1, 3]] = ((plain[:, [1, 3]] + 9) / 3).clip(0, 40)
    check(mapped, expected)


def test_a_head_behind_a_quantized_network_finds_the_boxes_of_its_raw_tensors() -> None:
    model = detectors.yolov8()
    x, program = picture(model), trimtab.load(model)
    request = heads.HeadRequest("yolov8")
    raw = heads.without_decoding(program, request)
    samples = np.concatenate([picture(model, seed) for seed in range(8)])
    quantized = trimtab.quantize(raw, {"images": samples}).program
    session = trimtab.Session(heads.with_head(quantized, request))
    assert "qlinear_conv" in [op.type for op in session.program.ops]
    results, values = session.run(x), trimtab.Session(quantized).run(x)
    boxes, scores = [], []
    for i, step in enumerate((8, 16, 32)):
        box, raw_scores = (values[name][0] for name in list(values)[2 * i : 2 * i + 2])
        _, h, w = box.shape
        bins = np.exp(box.astype(np.float64).reshape(4, 16, h * w))
        sides = (bins * np.arange(16)[:, None]).sum(1) / bins.sum(1)
        cells = np.stack(np.meshgrid(np.arange(w), np.arange(h))).reshape(2, -1) + 0.5
        boxes.append(np.concatenate([cells - sides[:2], cells + sides[2:]]).T * step)
        scores.append(reference.sigmoid(raw_scores.reshape(5, -1).T))
    expected = reference.detections(np.concatenate(boxes), np.concatenate(scores))
    assert len(expected) > 3
    check(results["boxes"][0, : results["count"][0]], expected)


def test_heads_of_classes_and_labels_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    arrays = {"top_k": (2, 9), "arg_max": (2, 4, 5, 7), "ctc": (2, 12, 4)}
    for head, shape in arrays.items():
        program, x = trimtab.Program(head), rng.standard_normal(shape).astype(np.float32)
        program.add_input("x", shape)
        program.outputs = program.block.add_op("relu", ["x"])
        y = x.clip(0)
        results = trimtab.Session(trimtab.attach_head(program, head, top=3)).run(x)
        if head == "top_k":
            expected = np.argsort(-y, axis=1, kind="stable")[:, :3]
            np.testing.assert_array_equal(results["classes"], expected)
            np.testing.assert_array_equal(results["scores"], np.take_along_axis(y, expected, 1))
        elif head == "arg_max":
            np.testing.assert_array_equal(results["classes"], y.argmax(1))
        else:
            best = y.argmax(2)
            again = np.concatenate([np.zeros((2, 1), bool), best[:, 1:] == best[:, :-1]], 1)
            labels = np.where(again | (best == 0), -1, best)
            np.testing.assert_array_equal(results["labels"], labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yolov99", "no head"),
        ("yolov8:nms=1", "no option"),
        ("yolov8:score=high", "not float"),
        ("yolov8:scale=2", "must be 2 numbers"),
        ("yolov8:max_boxes=0", "at least 1"),
        ("yolov3", "expects"),
        ("yolox:classes=2", "expects"),
        ("top_k", "expects"),
        ("yolov8:classes=7", "expects"),
    ],
)
def test_a_head_that_does_not_fit_is_refused_by_name(text: str, message: str) -> None:
    program = trimtab.load(detectors.yolov8())
    with pytest.raises(UsageError, match=message):
        heads.with_head(program, heads.HeadRequest.parse(text))


@pytest.mark.parametrize("shapes", [[(1, 10, 4), (1, 10)], [(1, 4), (1, 10, 7)], [(1, 10, 4)]])
def test_the_tensors_of_a_transformer_have_three_dimensions(shapes: list[tuple[int, ...]]) -> None:
    program = trimtab.Program("queries")
    program.add_input("x", (1, 3, 32, 32))
    block = program.block
    total = block.add_op("reduce_mean", ["x"], {"axes": (0, 1, 2, 3)})
    for shape in shapes:
        (one,) = block.add_op("reshape", total, {"shape": (1,) * len(shape)})
        values = block.add_constant(np.ones(shape, np.float32))
        program.outputs += block.add_op("add", [values, one])
    with pytest.raises(UsageError, match=r"expects boxes \[n, queries, 4\]"):
        heads.with_head(program, heads.HeadRequest.parse("detr"))
