"""Proofs of what a head takes a network's tensors for: exports that end with boxes, of which the
files have the right ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.heads import detectors, reference
from tests.heads.reference import Array
from tests.recorded_progress import RecordedProgress
from trimtab import camera, heads
from trimtab.errors import UsageError
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import Recipe

SIDE, COUNT, ROWS = 64, 12, 31
NAMES = str({i: f"c{i}" for i in range(20)})
CLASSES = [0, 16, 2]


def network(tensors: dict[str, Array], metadata: dict[str, str]) -> trimtab.Program:
    """A network of an image whose results are these tensors, whatever the image is."""
    return trimtab.load(of_graph(tensors, metadata), cache=False)


def of_graph(
    tensors: dict[str, Array], metadata: dict[str, str], type: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    """The same as a file, whose elements are of a type."""
    real = helper.tensor_dtype_to_np_dtype(type)
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
    ]
    constants = [numpy_helper.from_array(np.zeros((), real), "zero")]
    for name, value in tensors.items():
        constants.append(numpy_helper.from_array(value.astype(real), f"of.{name}"))
        nodes.append(helper.make_node("Add", [f"of.{name}", "nothing"], [name]))
    images = helper.make_tensor_value_info("images", type, [1, 3, SIDE, SIDE])
    ends = [helper.make_tensor_value_info(k, type, v.shape) for k, v in tensors.items()]
    graph = helper.make_graph(nodes, "net", [images], ends, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    for key, text in metadata.items():
        model.metadata_props.add(key=key, value=text)
    return model


def results_of(program: trimtab.Program) -> dict[str, Array]:
    session = trimtab.Session(program, cache=False)
    return session.run(np.zeros((1, 3, SIDE, SIDE), np.float32))


def best_rows(count: int = COUNT) -> Array:
    """xmin, ymin, xmax, ymax, score and class, best first, with further rows of zeros."""
    rows = np.zeros((ROWS, 6), np.float32)
    for i in range(count):
        rows[i] = [2 * i, 3, 2 * i + 9, 20, 0.9 - 0.05 * i, CLASSES[i % 3]]
    return rows


ENDS = {
    "nms": ("detect", {"end2end": "False", "args": "{'batch': 1, 'nms': True}"}),
    "end2end": ("detect", {"end2end": "True"}),
    "silent": ("detect", {}),
    "segment": ("segment", {"end2end": "True"}),
    "pose": ("pose", {"args": "{'nms': True}"}),
}


@pytest.mark.parametrize("behind_camera", [False, True])
@pytest.mark.parametrize("kind", ENDS)
def test_exports_that_end_with_boxes_have_those_of_the_file(kind: str, behind_camera: bool) -> None:
    task, entries = ENDS[kind]
    rng = np.random.default_rng(1)
    order = rng.permutation(ROWS)
    rows, prototypes = best_rows(), rng.standard_normal((8, 16, 16)).astype(np.float32)
    further = rng.uniform(0, 1, (ROWS, {"segment": 8, "pose": 15}.get(kind, 0)))
    tensors = {"output0": np.concatenate([rows, further], 1)[order][None]}
    if kind == "segment":
        tensors["output1"] = prototypes[None]
    program = network(tensors, {"task": task, "names": NAMES, **entries})
    if behind_camera:
        one = f"camera(rgb, {SIDE}x{SIDE}) | rgb | scale(1/255)"
        behind = trimtab.attach_head(camera.attach(program, one), "auto")
        frame = np.zeros((SIDE, SIDE, 3), np.uint8)
        results = trimtab.Session(behind, cache=False).run(frame)
    else:
        results = results_of(trimtab.attach_head(program, "auto"))
    assert results["count"][0] == COUNT
    np.testing.assert_allclose(results["boxes"][0], rows, 1e-6)
    if kind == "pose":
        points = further[:COUNT].reshape(COUNT, 5, 3)
        np.testing.assert_allclose(results["points"][0, :COUNT], points, 1e-5, 1e-5)
    if kind == "segment":
        masks = reference.sigmoid(np.einsum("rm,mhw->rhw", further[:COUNT], prototypes))
        expected = reference.cropped(masks, rows[:COUNT, :4] / (SIDE / 16))
        np.testing.assert_allclose(results["masks"][0, :COUNT], expected, 1e-4, 1e-5)


def test_an_rt_detr_of_ultralytics_is_read_as_queries() -> None:
    rows, x = best_rows(), np.zeros((1, ROWS, 24))
    x[0, :, :2], x[0, :, 2:4] = (rows[:, :2] + rows[:, 2:4]) / 2, rows[:, 2:4] - rows[:, :2]
    x[0, :, :4] /= SIDE
    x[0, np.arange(ROWS), 4 + rows[:, 5].astype(int)] = rows[:, 4]
    program = network({"output0": x}, {"task": "detect", "names": NAMES, "end2end": "False"})
    proof = heads.prove(program, heads.HeadRequest("auto"))
    assert proof.request.name == "rt_detr"
    assert "31 boxes of 20 classes: the file names 20; in a run with noise scores" in str(proof)
    results = results_of(trimtab.attach_head(program, "auto"))
    assert results["count"][0] == COUNT
    np.testing.assert_allclose(results["boxes"][0, :COUNT], rows[:COUNT], 1e-5)
    with pytest.raises(UsageError, match="would read 27 classes, and the file names 20") as caught:
        trimtab.attach_head(program, "yolov8")
    assert "yolov8:classes=27" in caught.value.hint
    assert "the file's may be yolov10, rt_detr" in caught.value.hint


def chosen(images: int, options: dict[str, Any]) -> tuple[list[Array], list[Array]]:
    """Rows in any order, and what an option leaves of them."""
    rng = np.random.default_rng(7)
    rows = rng.uniform(0, 60, (images, 40, 6)).astype(np.float32)
    rows[..., 4], rows[..., 5] = rng.random((images, 40)), rng.integers(0, 5, (images, 40))
    expected = []
    for image in rows:
        left = image[(image[:, 4] > options.get("score", 0.25))]
        left = left[left[:, 5] < options.get("classes", 99)]
        most = min(options.get("max_boxes", 300), options.get("candidates", 1000))
        expected.append(left[np.argsort(-left[:, 4], kind="stable")][:most])
    return list(rows), expected


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"max_boxes": 3}, {"candidates": 4}, {"classes": 2, "score": 0.5}, {"score": 0.97},
     {"classes": 1, "max_boxes": 2}, {"score": -2.0, "classes": 3}],
)  # fmt: skip
def test_chosen_rows_in_any_order_follow_the_options(images: int, options: dict[str, Any]) -> None:
    rows, expected = chosen(images, options)
    program = trimtab.Program("rows")
    program.add_input("x", (images, 40, 6))
    program.outputs = program.block.add_op("neg", ["x"])
    behind = trimtab.attach_head(program, "yolov10", **options)
    results = trimtab.Session(behind, cache=False).run(-np.stack(rows))
    most = min(options.get("max_boxes", 300), options.get("candidates", 1000), 40)
    assert results["boxes"].shape == (images, most, 6)
    for boxes, count, want in zip(results["boxes"], results["count"], expected, strict=True):
        assert count == len(want)
        np.testing.assert_array_equal(boxes[:count], want)
        assert not boxes[count:].any()


def test_chosen_boxes_have_one_class_each_and_are_mapped_to_the_frame() -> None:
    program = network({"out": best_rows()[None]}, {})
    with pytest.raises(UsageError, match="leave out multi_label"):
        trimtab.attach_head(program, "yolov10", multi_label=True)
    mapped = trimtab.attach_head(program, "yolov10", scale=(2, 3), offset=(1, -4), frame=(40, 50))
    expected = best_rows()[:COUNT]
    expected[:, :4] = expected[:, :4] * [2, 3, 2, 3] + [1, -4, 1, -4]
    expected[:, :4] = expected[:, :4].clip(0, [40, 50, 40, 50])
    np.testing.assert_allclose(results_of(mapped)["boxes"][0, :COUNT], expected, 1e-6)


ROWS_OF_6 = {"out": best_rows()[None]}
REFUSED = {
    "rows as places": (ROWS_OF_6, "yolov8", "6 boxes of 27 classes are not the places"),
    "raw scores": (
        {"out": np.full((1, 9, 84), 3.0)},
        "yolov8",
        "scores would be from 0 to 1, .* 3",
    ),
    "objectness": ({"out": np.full((1, 84, 85), -2.0)}, "yolov5", "scores would be from 0 to 1"),
    "fractions": ({"out": best_rows()[None] * 0.4}, "yolov10", "classes would be whole numbers"),
    "a third": ({"out": best_rows()[None] * 3}, "yolov10", "scores would be from -1 to 1"),
    "pixels as queries": ({"out": best_rows()[None, :, :5]}, "rt_detr", "relative to the image"),
    "other labels": ({"out": np.zeros((1, 9))}, "top_k:labels=FILE", "labels names 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_reading_that_something_contradicts_is_refused(name: str, tmp_path: Path) -> None:
    tensors, text, message = REFUSED[name]
    (tmp_path / "labels").write_text("a\nb\n")
    request = heads.HeadRequest.parse(text.replace("FILE", str(tmp_path / "labels")))
    program = network(tensors, {})
    with pytest.raises(UsageError, match=message) as caught:
        heads.without_decoding(program, request)
    assert caught.value.hint
    assert caught.value.where == program.name


def test_a_file_whose_heads_do_not_fit_says_why_of_each() -> None:
    program = network({"out": np.zeros((1, 31, 7))}, {"task": "detect", "names": NAMES})
    with pytest.raises(UsageError, match="no head that the model's file allows fits") as caught:
        trimtab.attach_head(program, "auto")
    for head in ("yolov8", "yolov10", "rt_detr"):
        assert f"the head {head} does not fit out [1, 31, 7]" in caught.value.what
    other = network({"out": np.zeros((1, 31, 7))}, {"task": "of tomorrow"})
    with pytest.raises(UsageError, match="which head its results need: it says task=of tomorrow"):
        trimtab.attach_head(other, "auto")


def test_a_file_that_names_no_head_is_refused_with_the_heads_that_would_read_it() -> None:
    with pytest.raises(UsageError, match="these would read them") as caught:
        trimtab.attach_head(trimtab.load(detectors.yolov8()), "auto")
    lines = caught.value.what.splitlines()[1:]
    names = {name for line in lines for name in line.strip().partition(":")[0].split(", ")}
    assert {"yolov8", "yolov10"} <= names
    assert not {"yolov5", "rt_detr", "top_k"} & names
    assert "126 boxes of 5 classes" in caught.value.what
    assert "such as --head" in (caught.value.hint or "")
    with pytest.raises(UsageError, match=r"its results need\n  next") as caught:
        trimtab.attach_head(network({"out": np.zeros((3, 5, 7, 2, 2))}, {}), "auto")
    assert "such as yolov8" in (caught.value.hint or "")


def test_results_with_two_readings_are_refused_with_both() -> None:
    """[1, 24, 24] of 20 classes is boxes of 24 places, or 24 queries, if all are relative."""
    program = network({"out": np.full((1, 24, 24), 0.5)}, {"task": "detect", "names": NAMES})
    with pytest.raises(UsageError, match="have several readings, and nothing decides") as caught:
        trimtab.attach_head(program, "auto")
    for head in ("yolov8", "rt_detr"):
        assert f"head {head} reads out [1, 24, 24] as 24 boxes of 20 classes" in caught.value.what
    assert caught.value.hint == "name one of the heads: yolov8 or rt_detr"
    assert trimtab.attach_head(program, "rt_detr").outputs[0] == "boxes"


def test_classes_that_the_user_counts_need_no_names() -> None:
    program = network(ROWS_OF_6, {"task": "detect", "names": NAMES})
    proof = heads.prove(program, heads.HeadRequest("yolov10", classes=3))
    assert "as classes= says" not in str(proof)
    results = results_of(trimtab.attach_head(program, "yolov10", classes=3))
    assert results["count"][0] == sum(c < 3 for c in CLASSES) * COUNT // 3


def test_the_pipeline_says_what_the_head_reads_and_by_what(tmp_path: Path) -> None:
    model = detectors.yolov8(size=(96, 64))
    for key, value in {"task": "detect", "names": "{0:'a',1:'b',2:'c',3:'d',4:'e'}"}.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, tmp_path / "net.onnx")
    progress = RecordedProgress()
    recipe = Recipe(model=str(tmp_path / "net.onnx"), head=heads.HeadRequest("auto"))
    loaded = load(recipe, progress)
    assert loaded.recipe.head == heads.HeadRequest("yolov8")
    (note,) = (line for line in progress.lines if line.startswith("head yolov8 reads"))
    assert note.endswith("126 boxes of 5 classes: the file names 5; the file says task=detect")
