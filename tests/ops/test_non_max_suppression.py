"""Non-maximum suppression and the decoding of boxes: ONNX's operator against onnxruntime's, and the
edges of both.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.heads import reference
from tests.ops import oracle
from trimtab import schema
from trimtab.errors import ProgramError, UnsupportedOperatorError
from trimtab.program import Program, Quantization

Array = NDArray[Any]


def onnx_model(
    boxes: Array, scores: Array, limits: tuple[Any, ...], center: int = 0
) -> onnx.ModelProto:
    types = (np.int64, np.float32, np.float32)
    constants = [
        numpy_helper.from_array(np.array([v], t), f"limit{i}")
        for i, (v, t) in enumerate(zip(limits, types, strict=False))
        if v is not None
    ]
    names = [f"limit{i}" if v is not None else "" for i, v in enumerate(limits)]
    node = helper.make_node(
        "NonMaxSuppression", ["boxes", "scores", *names], ["y"], center_point_box=center
    )
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
        for name, array in (("boxes", boxes), ("scores", scores))
    ]
    output = helper.make_tensor_value_info("y", TensorProto.INT64, [None, 3])
    graph = helper.make_graph([node], "nms", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def random_boxes(images: int, classes: int, count: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    boxes = rng.uniform(0, 10, (images, count, 4)).astype(np.float32)
    return boxes, rng.uniform(0, 1, (images, classes, count)).astype(np.float32)


LIMITS: list[tuple[Any, ...]] = [
    (3, 0.5, 0.0), (1000, 0.3, 0.6), (7, 0.0), (2,), (5, 0.999, 0.2), (9, 0.4, 2.0), (9, None, 0.9),
]  # fmt: skip


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize(("images", "classes", "count"), [(1, 1, 1), (2, 3, 37), (1, 5, 130)])
def test_the_selected_boxes_are_those_of_onnxruntime(
    images: int, classes: int, count: int, limits: tuple[Any, ...]
) -> None:
    boxes, scores = random_boxes(images, classes, count, count)
    for center in (0, 1):
        feeds = {"boxes": boxes, "scores": scores}
        model = onnx_model(boxes, scores, limits, center)
        (expected,) = oracle.run(model, feeds).values()
        actual = trimtab.Session(trimtab.load(model)).run(feeds)["y"]
        assert actual.shape == (images * classes * min(count, limits[0]), 3)
        np.testing.assert_array_equal(actual[: len(expected)], expected)
        assert (actual[len(expected) :] == -1).all()


def test_equal_scores_select_the_first_box_and_nan_none() -> None:
    boxes, _ = random_boxes(1, 1, 40, 2)
    scores = np.repeat(np.array([0.5, np.nan, 0.75, 0.5], np.float32), 10)[None, None]
    model = onnx_model(boxes, scores, (40, 1.0, 0.1))
    actual = trimtab.Session(trimtab.load(model)).run({"boxes": boxes, "scores": scores})["y"]
    np.testing.assert_array_equal(actual[:30, 2], [*range(20, 30), *range(10), *range(30, 40)])
    assert (actual[30:] == -1).all()


def test_a_suppression_that_selects_nothing_or_a_computed_number_is_refused() -> None:
    boxes, scores = random_boxes(1, 1, 4, 2)
    with pytest.raises(UnsupportedOperatorError, match="max_output_boxes_per_class is 0"):
        trimtab.load(onnx_model(boxes, scores, (0, 0.5)))
    model = onnx_model(boxes, scores, (3, 0.5))
    model.graph.input.append(helper.make_tensor_value_info("limit0", TensorProto.INT64, [1]))
    del model.graph.initializer[0]
    with pytest.raises(UnsupportedOperatorError, match="must be constant"):
        trimtab.load(model)


def decoder(shapes: list[tuple[int, ...]], **attributes: Any) -> Program:
    program = Program("decoder")
    names = [program.add_input(f"x{i}", shape) for i, shape in enumerate(shapes)]
    outputs = ["boxes", "count", "index"]
    program.outputs = program.block.add_op("decode_boxes", names, attributes, outputs)
    return program


def rows_of(results: dict[str, Array], image: int = 0) -> Array:
    return np.asarray(results["boxes"][image, : results["count"][image]])


@pytest.mark.parametrize("count", [1, 15, 63, 64, 65, 200])
@pytest.mark.parametrize("classes", [1, 3, 15, 16, 17, 33])
@pytest.mark.parametrize("channels_first", [False, True])
def test_scores_above_the_threshold_are_found_at_any_place(
    count: int, classes: int, channels_first: bool
) -> None:
    rng = np.random.default_rng(count * 100 + classes)
    x = np.full((1, count, 4 + classes), -9.0, np.float32)
    x[..., :4] = rng.uniform(1, 5, (1, count, 4))
    winners = {(0, 0), (count - 1, classes - 1), (count // 2, classes // 2)}
    for place, label in winners:
        x[0, place, 4 + label] = rng.uniform(0.1, 2)
    feed = x.transpose(0, 2, 1) if channels_first else x
    program = decoder(
        [feed.shape], box="corners", scores="sigmoid", score_channel=4, classes=classes,
        threshold=0.5, channels_first=channels_first, multi_label=True,
    )  # fmt: skip
    results = trimtab.Session(program).run(np.ascontiguousarray(feed))
    expected = reference.detections(
        x[0, :, :4], reference.sigmoid(x[0, :, 4:]), 0.5, 2.0, multi_label=True
    )
    np.testing.assert_allclose(rows_of(results), expected, 1e-5, 1e-6)
    assert len(expected) == len(winners)
    assert set(results["index"][0, : len(expected)]) == {place for place, _ in winners}


def test_the_best_candidates_are_kept_and_ties_are_in_order() -> None:
    x = np.zeros((2, 50, 6), np.float32)
    x[..., 4] = np.tile([1, 2, 3, 4, np.nan], 10)
    x[..., 5] = np.tile([4, 2, 9, np.nan, np.nan], 10)
    x[1, :, 4:] *= -1
    program = decoder(
        [x.shape], box="center_size", score_channel=4, classes=2, threshold=0.0, candidates=21
    )
    results = trimtab.Session(program).run(x)
    tens = np.arange(0, 50, 5)
    np.testing.assert_array_equal(results["count"], [21, 0])
    expected = [*(tens + 2), *sorted([*tens, *(tens + 3)])[:11]]
    np.testing.assert_array_equal(results["index"][0], expected)
    np.testing.assert_array_equal(results["boxes"][0, :, 4], [9.0] * 10 + [4.0] * 11)
    assert not results["boxes"][1].any()


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_int8_scores_pass_the_threshold_as_their_dequantized_values_do(threshold: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-128, 128, (1, 7, 5, 9)).astype(np.int8)
    results = []
    for is_stored in (True, False):
        program = Program("decoder")
        program.add_input("x", (1, 7, 5, 9), "i8")
        program.vars["x"].quantization = Quantization.of(np.array([0.037], np.float32), -11)
        name = "x"
        if not is_stored:
            (name,) = program.block.add_op("dequantize_linear", ["x"])
        attributes = {"box": "corners", "scores": "sigmoid", "score_channel": 4, "classes": 3}
        program.outputs = program.block.add_op(
            "decode_boxes", [name], attributes | {"threshold": threshold}, ["boxes", "count", "i"]
        )
        optimized = trimtab.optimize(program)
        assert [op.type for op in optimized.steps if "convert" not in op.type] == ["decode_boxes"]
        results.append(trimtab.Session(program).run(x))
    real = (x.astype(np.float32) + 11) * np.float32(0.037)
    values = real.reshape(7, -1).T
    expected = reference.detections(values[:, :4], reference.sigmoid(values[:, 4:]), threshold, 2.0)
    assert (threshold < 1) == (len(expected) > 0)
    for result in results:
        np.testing.assert_allclose(rows_of(result), expected, 1e-5, 1e-6)


def wild_decoder(rng: random.Random) -> tuple[list[tuple[int, ...]], dict[str, Any]]:
    """Shapes and attributes of a decoder that are nearly right, or right."""
    box = rng.choice(schema.operator("decode_boxes").attribute("box").values)
    parts, levels, per_place = rng.choice((1, 1, 2, 3)), rng.randint(1, 3), rng.choice((1, 1, 3))
    bins, classes = rng.choice((1, 1, 7, 16)), rng.choice((1, 2, 20))
    used = 4 * bins + classes + 1
    grids = [(rng.randint(0, 9), rng.randint(1, 9)) for _ in range(levels)]
    is_flat = rng.random() < 0.3
    shapes: list[tuple[int, ...]]
    if is_flat:
        places = sum(h * w for h, w in grids) * rng.choice((1, 1, 2))
        shapes = [(2, places, used * per_place)] * parts
    else:
        shapes = [(2, used * per_place, *grid) for grid in grids for _ in range(parts)]
    if rng.random() < 0.1:
        shapes.pop(rng.randrange(len(shapes)))
    if box == "prior":
        shapes.append((sum(h * w for h, w in grids) * per_place, 4))
    attributes = {"box": box, "parts": parts, "bins": bins, "classes": classes}
    attributes |= {
        "per_place": per_place,
        "threshold": rng.choice((0.0, 0.5, 0.5, 0.9, math.nan, -math.inf, math.inf)),
        "scores": rng.choice(("linear", "sigmoid", "softmax")),
        "objectness_channel": rng.choice((-1, -1, used - 1, used)),
        "score_channel": rng.choice((4 * bins, 0, -3, 2**31)),
        "strides": [8.0] * rng.choice((levels, levels, 0, 9)),
        "anchors": [rng.choice((3.0, math.inf, 0.0))] * (2 * levels * per_place),
        "grids": [n for grid in grids for n in grid] if is_flat else [],
        "background": rng.choice((-1, 0, classes)),
        "multi_label": rng.random() < 0.5,
        "candidates": rng.choice((1, 5, 1000, 2**40)),
    }
    return shapes, attributes


def test_decoders_of_hostile_files_are_refused_or_compute() -> None:
    rng = random.Random(11)
    computed = 0
    for _ in range(600):
        shapes, attributes = wild_decoder(rng)
        try:
            session = trimtab.Session(decoder(shapes, **attributes))
        except ProgramError:
            continue
        draw = np.random.default_rng(rng.randrange(2**32))
        feeds = {f"x{i}": draw.standard_normal(s).astype(np.float32) for i, s in enumerate(shapes)}
        for x in feeds.values():
            x.reshape(-1)[:: rng.randint(2, 50)] = rng.choice((math.nan, math.inf, -math.inf, 1e30))
        results = session.run(feeds)
        assert ((results["count"] >= 0) & (results["count"] <= results["boxes"].shape[1])).all()
        computed += 1
    assert computed > 40


def test_nodes_read_the_selected_boxes_alone() -> None:
    boxes, scores = random_boxes(1, 1, 5, seed=1)
    model = onnx_model(boxes, scores, (3, 0.5))
    model.graph.node.append(helper.make_node("Cast", ["y"], ["z"], to=TensorProto.FLOAT))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, [None, 3]))
    feeds = {"boxes": boxes, "scores": scores}
    expected = oracle.run(model, feeds)["z"]
    np.testing.assert_array_equal(trimtab.Session(model).run(feeds)["z"], expected)
