"""Hints of model files at their use: Ultralytics' metadata, TFLite's metadata and labels."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import tflite

import trimtab
from tests.heads import detectors
from trimtab import camera, heads
from trimtab.errors import UsageError
from trimtab.importers.beside.ultralytics import of_ultralytics
from trimtab.importers.tflite_ops import hints
from trimtab.pipeline import input_shapes

NAMES = "{0: 'person', 1: 'it\\'s', 2: 'c', 3: 'd', 4: 'e'}"
TASK = {"task": "detect", "stride": "32", "imgsz": "[64, 64]", "names": NAMES}


def ultralytics(path: Path) -> Path:
    """A detector with the metadata that Ultralytics writes."""
    model = detectors.yolov8(size=(64, 64))
    for key, value in TASK.items():
        model.metadata_props.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("cache", [False, True])
def test_a_network_of_ultralytics_needs_no_names_of_steps_heads_or_labels(
    tmp_path: Path, cache: bool
) -> None:
    program = trimtab.load(ultralytics(tmp_path / "net.onnx"), cache=cache)
    frame = np.random.default_rng(1).integers(0, 256, (48, 90, 3), np.uint8)
    results = []
    for steps, head in (("auto", "auto"), ("yolo", "yolov8")):
        behind = camera.attach(program, f"camera(rgb, 90x48) | {steps}")
        session = trimtab.Session(trimtab.attach_head(behind, head, score=0.02), cache=False)
        results.append(session.run(frame))
    for name, values in results[1].items():
        np.testing.assert_array_equal(results[0][name], values)
    assert results[0]["labels"].tobytes() == b"person\0it's\0c\0d\0e\0"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, ((), "")),
        ({"task": "of tomorrow", "names": NAMES}, ((), "")),
        ({"task": ["obb"], "names": NAMES}, ((), "")),
        ({"task": "obb", "names": {"0": "ship", 1: "plane"}}, (("ship", "plane"), "yolov8_obb")),
        ({"task": "obb", "names": {"0": "ship", "2": "plane"}}, ((), "yolov8_obb")),
        ({"task": "depth", "names": ["depth"]}, (("depth",), "depth")),
        ({"task": "semantic", "names": "['road', 'sky']"}, (("road", "sky"), "arg_max")),
        ({"task": "detect", "end2end": True}, ((), "yolov10")),
        ({"task": "detect", "args": {"nms": True}}, ((), "yolov10")),
        ({"task": "pose", "names": "{0: 'person'}"}, (("person",), "yolov8_pose")),
        ({"task": "segment", "names": "__import__('os')"}, ((), "yolov8_seg")),
        ({"task": "classify", "names": "{1: 'a'}"}, ((), "top_k")),
        ({"task": "classify", "names": "'abc'", "args": "[1, 2"}, ((), "top_k")),
        ({"task": "detect", "names": "[" * 9999, "end2end": "True"}, ((), "yolov10")),
        ({"task": "detect", "args": "{'batch': 1, 'nms': True}"}, ((), "yolov10")),
        ({"task": "detect", "args": "{'batch': 1, 'nms': False}"}, ((), "yolov8")),
    ],
)
def test_only_known_and_well_formed_metadata_count(
    metadata: dict[str, str], expected: tuple[tuple[str, ...], str]
) -> None:
    result = of_ultralytics(metadata)
    assert (result.labels, next(iter(result.heads), "")) == expected


@pytest.mark.parametrize(
    ("size", "step"),
    [
        ("[224, 224]", "center_crop(auto, 224, antialias) | "),
        ([128, 256], "resize(auto, antialias) | "),
        ("224", ""),
        ([0, 0], ""),
    ],
)
def test_classifiers_of_ultralytics_see_the_middle_at_their_size(size: object, step: str) -> None:
    """Resize(size), CenterCrop(size) of data/augment.py: classify_transforms."""
    assert of_ultralytics({"task": "classify", "imgsz": size}).camera == (
        f"{step}rgb | scale(1/255)" if step else ""
    )


def test_a_network_that_says_nothing_has_no_automatic_steps_and_head() -> None:
    program = trimtab.load(detectors.yolov8(size=(64, 64)))
    with pytest.raises(UsageError, match="does not say how pictures"):
        camera.attach(program, "camera(rgb, 9x9) | auto")
    with pytest.raises(UsageError, match="does not say which head"):
        heads.attach_head(program, "auto")


def tflite_file(
    mean: list[float], std: list[float], text: bytes, file_name: str = "labelmap.txt"
) -> bytes:
    """A TFLite model with only metadata, by the generic builder and the numbers of the schema
    metadata_schema.fbs, and a text file behind it.
    """
    inner = flatbuffers.Builder()
    vectors = [inner.CreateNumpyVector(np.array(v, np.float32)) for v in (mean, std)]

    def table(fields: dict[int, tuple[str, int]]) -> int:
        inner.StartObject(max(fields) + 1)
        for slot, (kind, value) in fields.items():
            if kind == "byte":
                inner.PrependUint8Slot(slot, value, 0)
            else:
                inner.PrependUOffsetTRelativeSlot(slot, value, 0)
        return int(inner.EndObject())

    def rows(row: int) -> int:
        inner.StartVector(4, 1, 4)
        inner.PrependUOffsetTRelative(row)
        return int(inner.EndVector())

    options = table({0: ("row", vectors[0]), 1: ("row", vectors[1])})
    unit = rows(table({0: ("byte", 1), 1: ("row", options)}))
    tensor = rows(table({4: ("row", unit)}))
    subgraph = rows(table({2: ("row", tensor)}))
    inner.Finish(table({3: ("row", subgraph)}), b"M001")

    outer = flatbuffers.Builder()
    data = outer.CreateByteVector(bytes(inner.Output()))
    tflite.BufferStart(outer)
    tflite.BufferAddData(outer, data)
    buffer = tflite.BufferEnd(outer)
    tflite.ModelStartBuffersVector(outer, 1)
    outer.PrependUOffsetTRelative(buffer)
    buffers = outer.EndVector()
    name = outer.CreateString("TFLITE_METADATA")
    tflite.MetadataStart(outer)
    tflite.MetadataAddName(outer, name)
    tflite.MetadataAddBuffer(outer, 0)
    entry = tflite.MetadataEnd(outer)
    tflite.ModelStartMetadataVector(outer, 1)
    outer.PrependUOffsetTRelative(entry)
    metadata = outer.EndVector()
    tflite.ModelStart(outer)
    tflite.ModelAddBuffers(outer, buffers)
    tflite.ModelAddMetadata(outer, metadata)
    outer.Finish(tflite.ModelEnd(outer), b"TFL3")
    archive = io.BytesIO(bytes(outer.Output()))
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(file_name, text)
    return archive.getvalue()


def test_normalization_and_labels_of_tflite_are_read() -> None:
    data = tflite_file([127.5], [127.5, 127.5, 64], b"cat\ndog\n")
    result = hints.read(data)
    assert result.labels == ("cat", "dog")
    assert result.camera == "resize(auto) | rgb | mean(127.5) | std(127.5, 127.5, 64)"
    parsed = camera.parse(f"camera(rgb, 9x9) | {result.camera}")
    np.testing.assert_allclose(parsed.scale, [1 / 127.5, 1 / 127.5, 1 / 64])
    rng = np.random.default_rng(1)
    for _ in range(300):  # damaged metadata say nothing, or something
        damaged = bytearray(data)
        for at in rng.integers(8, len(data), 4):
            damaged[at] = int(rng.integers(0, 256))
        hints.read(bytes(damaged))
        hints.read(bytes(damaged[: rng.integers(8, len(data))]))


def test_a_file_beside_a_model_has_its_inputs_and_head(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        'head = "yolov8:score=0.3"\n[inputs]\n'
        'images = "camera(nv12, 64x64..1920x1080) | yolo"\nsize = "1,2"\n'
    )
    shapes, cameras, _ = input_shapes.parse_all([str(path)])
    assert shapes == {"size": (1, 2)}
    assert cameras["images"].min_size == (64, 64)
    assert input_shapes.read_use(str(path)).head == "yolov8:score=0.3"
    path.write_text("[input]\n")
    with pytest.raises(UsageError, match="inputs"):
        input_shapes.parse_all([str(path)])
