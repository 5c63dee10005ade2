"""Files beside a model that say how it is used, as their programs write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trimtab
from tests.heads import detectors
from tests.importers import test_hints
from trimtab import camera, importers
from trimtab.errors import DynamicShapeError, ModelFileError, UsageError
from trimtab.importers.tflite_ops import hints
from trimtab.program import ModelHints

# As `yolo export format=ncnn` writes it, shortened.
METADATA_YAML = """\
description: Ultralytics YOLO11n model trained on coco.yaml
date: '2026-11-01T10:00:00.000000'
stride: 32
task: pose
imgsz:
- 64
- 64
names:
  0: person
  1: 'yes'
args:
  half: false
  nms: false
channels: 3
end2end: false
kpt_shape:
- 4
- 2
"""
NETWORK = "7767517\n2 2\nInput in 0 1 data 0=8 1=8 2=3\nReLU relu 1 1 data out\n"

# Of PP-YOLOE in PaddleDetection 2.8, but with its linear interpolation.
INFER_CFG = """\
mode: paddle
draw_threshold: 0.5
arch: YOLO
Preprocess:
- interp: 1
  keep_ratio: false
  target_size: [640, 640]
  type: Resize
- mean: [0.485, 0.456, 0.406]
  norm_type: mean_std
  std: [0.229, 0.224, 0.225]
  type: NormalizeImage
- type: Permute
label_list:
- person
- bicycle
"""
IMAGENET = "mean(0.485, 0.456, 0.406) | std(0.229, 0.224, 0.225)"

# Of RT-DETR and of ViT at Hugging Face; image processors write what they do not use, too.
RT_DETR: dict[str, Any] = {
    "do_convert_annotations": True, "do_normalize": False, "do_pad": False, "do_rescale": True,
    "do_resize": True, "format": "coco_detection", "image_mean": [0.485, 0.456, 0.406],
    "image_processor_type": "RTDetrImageProcessor", "image_std": [0.229, 0.224, 0.225],
    "pad_size": None, "resample": 2, "rescale_factor": 0.00392156862745098,
    "size": {"height": 640, "width": 640},
}  # fmt: skip
VIT = {
    "do_normalize": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5], "resample": 2, "size": 224,
}  # fmt: skip
# Of openai/clip-vit-base-patch32, shortened.
CLIP: dict[str, Any] = {
    "crop_size": 224, "do_center_crop": True, "do_normalize": False, "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3, "size": 224,
}  # fmt: skip
CROPPED = {**RT_DETR, "do_center_crop": True, "size": {"shortest_edge": 256}, "crop_size": 224}
TIMM: dict[str, Any] = {
    "architecture": "mobilenetv3_small_050",
    "num_classes": 2,
    "label_names": ["cat", "dog"],
    "pretrained_cfg": {
        "input_size": [3, 224, 224], "interpolation": "bilinear", "crop_pct": 0.875,
        "crop_mode": "center", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
    },
}  # fmt: skip


def loaded(
    folder: Path, name: str, content: str | dict[str, Any], cache: bool = False
) -> ModelHints:
    """The hints of a network beside such a file."""
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "net.param").write_text(NETWORK)
    return trimtab.load(folder / "net.param", cache=cache).hints


@pytest.mark.parametrize("cache", [False, True])
def test_the_metadata_beside_an_ncnn_network_of_ultralytics_is_read(
    tmp_path: Path, cache: bool
) -> None:
    result = loaded(tmp_path, "metadata.yaml", METADATA_YAML, cache)
    assert result.labels == ("person", "yes")
    assert result.heads == ("yolov8_pose",)
    assert result.camera == "letterbox(auto, 114) | rgb | scale(1/255)"
    assert result.point_values == 2
    changed = METADATA_YAML.replace("task: pose", "task: segment")
    assert loaded(tmp_path, "metadata.yaml", changed, cache).heads == ("yolov8_seg",)
    names = [path.name for path in importers.files(tmp_path / "net.param")]
    assert names == ["net.param", "metadata.yaml"]


def test_a_folder_of_an_ncnn_export_is_a_model_whose_pictures_have_the_size_of_its_metadata(
    tmp_path: Path,
) -> None:
    text = NETWORK.replace(" 0=8 1=8 2=3", "")  # as PNNX writes it
    (tmp_path / "model.ncnn.param").write_text(text)
    with pytest.raises(DynamicShapeError):
        trimtab.load(tmp_path, cache=False)
    for yaml in ("imgsz: [48, 64]\n", "task: detect\nimgsz: 64\n", "task: detect\nimgsz: [0, 9]\n"):
        (tmp_path / "metadata.yaml").write_text(yaml)
        with pytest.raises(DynamicShapeError):
            trimtab.load(tmp_path, cache=False)
    (tmp_path / "metadata.yaml").write_text("task: detect\nimgsz: [48, 64]\n")
    program = trimtab.load(tmp_path, cache=False)
    assert program.vars["data"].shape == (1, 3, 48, 64)
    assert program.hints.heads[0] == "yolov8"
    other = trimtab.load(tmp_path, {"data": (1, 3, 8, 8)}, cache=False)
    assert other.vars["data"].shape == (1, 3, 8, 8)
    (tmp_path / "other.param").write_text(text)
    with pytest.raises(ModelFileError, match="its format is not known"):
        trimtab.load(tmp_path, cache=False)


def test_a_dynamic_export_has_the_size_of_its_metadata() -> None:
    model = detectors.yolov8(size=(64, 64))
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for i, name in ((0, "batch"), (2, "height"), (3, "width")):
        dims[i].dim_param = name
    with pytest.raises(DynamicShapeError):
        trimtab.load(model, cache=False)
    for key, value in {"task": "detect", "imgsz": "[64, 64]"}.items():
        model.metadata_props.add(key=key, value=value)
    assert trimtab.load(model, cache=False).vars["images"].shape == (1, 3, 64, 64)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("infer_cfg.yml", INFER_CFG, f"resize(auto, bilinear) | rgb | scale(1/255) | {IMAGENET}"),
        ("infer_cfg.yml", INFER_CFG.replace("mean_std", "none"),
         "resize(auto, bilinear) | rgb | scale(1/255)"),
        ("preprocessor_config.json", RT_DETR, "resize(auto, antialias) | rgb | scale(1/255)"),
        ("preprocessor_config.json", VIT,
         "resize(auto, antialias) | rgb | scale(1/255) | mean(0.5, 0.5, 0.5) | std(0.5, 0.5, 0.5)"),
        ("preprocessor_config.json", CROPPED,
         "center_crop(auto, 256, antialias) | rgb | scale(1/255)"),
        ("config.json", TIMM,
         f"center_crop(auto, 256, antialias) | rgb | scale(1/255) | {IMAGENET}"),
        ("infer_cfg.yml", INFER_CFG.replace("interp: 1", "interp: 2").replace("mean_std", "none"),
         "resize(auto, bicubic) | rgb | scale(1/255)"),
        ("preprocessor_config.json", {**RT_DETR, "resample": 3},
         "resize(auto, antialias_bicubic) | rgb | scale(1/255)"),
        ("preprocessor_config.json", CLIP,
         "center_crop(auto, 224, antialias_bicubic) | rgb | scale(1/255)"),
        ("config.json",
         {**TIMM, "pretrained_cfg": {**TIMM["pretrained_cfg"], "interpolation": "bicubic"}},
         f"center_crop(auto, 256, antialias_bicubic) | rgb | scale(1/255) | {IMAGENET}"),
    ],
)  # fmt: skip
def test_the_steps_are_those_of_the_file(
    tmp_path: Path, name: str, content: str | dict[str, Any], expected: str
) -> None:
    result = loaded(tmp_path, name, content)
    assert result.camera == expected
    camera.parse(f"camera(rgb, 300x300) | {result.camera}")
    assert result.labels == {"infer_cfg.yml": ("person", "bicycle"), "config.json": ("cat", "dog")}.get(name, ())  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("infer_cfg.yml", INFER_CFG.replace("interp: 1", "interp: 4"), "interp of Resize is 4"),
        ("infer_cfg.yml", INFER_CFG.replace("keep_ratio: false", "keep_ratio: true"),
         "keeps the ratio"),
        ("infer_cfg.yml", INFER_CFG.replace("type: Permute", "type: WarpAffine"), "'WarpAffine'"),
        ("infer_cfg.yml", INFER_CFG.replace("mean_std", "of_pixels"), "norm_type is 'of_pixels'"),
        ("infer_cfg.yml", INFER_CFG.replace("0.229, ", ""), "not a value of each"),
        ("infer_cfg.yml", "Preprocess:\n- type: Permute\n", "does not resize"),
        ("infer_cfg.yml", "Preprocess:\n- [\n", "is not YAML"),
        ("preprocessor_config.json", {**RT_DETR, "resample": 1}, "resample is 1"),
        ("preprocessor_config.json", {**RT_DETR, "do_pad": True}, "the step do_pad is not known"),
        ("preprocessor_config.json", {**RT_DETR, "do_thumbnail": True}, "do_thumbnail is not"),
        ("preprocessor_config.json", {**RT_DETR, "size": {"longest_edge": 9}}, "longest_edge"),
        ("preprocessor_config.json", {**RT_DETR, "rescale_factor": "1"}, "rescale_factor is '1'"),
        ("preprocessor_config.json", {**VIT, "image_std": [0, 1, 1]}, "std is 0"),
        ("preprocessor_config.json", {**CROPPED, "size": {"shortest_edge": -1}}, "edge is -1"),
        ("preprocessor_config.json", "{", "preprocessor_config.json"),
        ("preprocessor_config.json", {**RT_DETR, "resample": None}, "resample is None"),
        *(("preprocessor_config.json", {**CLIP, "feature_extractor_type": kind, **more}, kind)
          for kind, more in (("DeiTFeatureExtractor", {"size": 256}),
                             ("LevitImageProcessor", {"size": {"shortest_edge": 224}}))),
        ("config.json", {"pretrained_cfg": {"interpolation": "lanczos"}}, "is 'lanczos'"),
        ("config.json",
         {"pretrained_cfg": {**TIMM["pretrained_cfg"], "crop_mode": "border"}},
         "crop_mode is 'border'"),
        ("config.json", {"pretrained_cfg": {**TIMM["pretrained_cfg"], "crop_pct": 0}}, "crop_pct"),
    ],
)  # fmt: skip
def test_an_unknown_step_is_refused_when_the_steps_are_wanted(
    tmp_path: Path, name: str, content: str | dict[str, Any], why: str
) -> None:
    result = loaded(tmp_path, name, content)
    assert why in result.refusal
    assert not result.camera
    if why.startswith("crop_mode"):
        assert result.heads == ("top_k",)
    if why.startswith("interp of"):
        assert result.labels == ("person", "bicycle")
    program = trimtab.load(tmp_path / "net.param", cache=False)
    with pytest.raises(UsageError, match="does not say how pictures become its input") as caught:
        camera.attach(program, "camera(rgb, 9x9) | auto")
    assert why in caught.value.what
    assert name in caught.value.what
    camera.attach(program, "camera(rgb, 9x9) | yolo")


# Of PP-OCRv5_mobile_rec and PP-LCNet in PaddleX 3, shortened.
OCR_YML = """\
Global:
  model_name: PP-OCRv5_mobile_rec
PreProcess:
  transform_ops:
  - DecodeImage:
      channel_first: false
      img_mode: BGR
  - RecResizeImg:
      image_shape: [3, 48, 320]
PostProcess:
  name: CTCLabelDecode
  character_dict:
  - a
  - '1'
"""
CLASSES_YML = """\
PreProcess:
  transform_ops:
  - ResizeImage:
      resize_short: 30
  - CropImage:
      size: 24
  - NormalizeImage:
      channel_num: 3
      mean: [0.485, 0.456, 0.406]
      order: ''
      scale: 0.00392156862745098
      std: [0.229, 0.224, 0.225]
  - ToCHWImage:
PostProcess:
  Topk:
    topk: 5
    label_list: [cat, dog]
"""


def test_the_head_and_the_names_of_paddle_ocr_are_read(tmp_path: Path) -> None:
    result = loaded(tmp_path, "inference.yml", OCR_YML)
    assert (result.heads, result.labels) == (("ctc",), ("blank", "a", "1", " "))
    without_crop = CLASSES_YML.replace("CropImage", "KeepKeys")
    assert "as large as the input" in loaded(tmp_path, "inference.yml", without_crop).refusal
    detector_of_text = OCR_YML.replace("RecResizeImg", "DetResizeForTest")
    refusal = loaded(tmp_path, "inference.yml", detector_of_text).refusal
    assert refusal == "inference.yml: the step DetResizeForTest is not known"
    result = loaded(tmp_path, "inference.yml", CLASSES_YML)
    assert (result.heads, result.labels) == (("top_k",), ("cat", "dog"))
    detector = loaded(tmp_path, "inference.yml", INFER_CFG)
    assert detector.camera.startswith("resize(auto, bilinear) | rgb")
    assert detector.labels == ("person", "bicycle")
    maps = loaded(tmp_path, "inference.yml", "PostProcess:\n  name: DBPostProcess\n")
    assert (maps.heads, maps.entry) == ((), "PostProcess: DBPostProcess")
    for odd in ("PreProcess: 3\n", "PreProcess:\n  transform_ops: 3\n", "PostProcess: [1]\n"):
        assert loaded(tmp_path, "inference.yml", odd).heads == ()


@pytest.mark.parametrize(
    ("architecture", "head"),
    [
        ("RTDetrV2ForObjectDetection", "rt_detr"), ("DFineForObjectDetection", "rt_detr"),
        ("DetrForObjectDetection", "detr"), ("ViTForImageClassification", "top_k"),
        ("SegformerForSemanticSegmentation", "arg_max"),
        ("DepthAnythingForDepthEstimation", "depth"), ("CLIPModel", ""),
    ],
)  # fmt: skip
def test_the_head_of_transformers_is_that_of_the_networks_class(
    tmp_path: Path, architecture: str, head: str
) -> None:
    content = {"architectures": [architecture], "id2label": {"0": "cat", "1": "dog"}}
    loaded(tmp_path, "preprocessor_config.json", RT_DETR)
    result = loaded(tmp_path, "config.json", content)
    assert result.heads == ((head,) if head else ())
    assert result.labels == ("cat", "dog")
    assert result.camera.startswith("resize(auto, antialias)")
    assert loaded(tmp_path, "config.json", {"architectures": [3]}).heads == ()


def test_a_model_that_says_its_steps_itself_keeps_them(tmp_path: Path) -> None:
    test_hints.ultralytics(tmp_path / "net.onnx")
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({**VIT, "do_pad": True}))
    result = trimtab.load(tmp_path / "net.onnx", cache=False).hints
    assert result.camera.startswith("letterbox")
    assert not result.refusal
    (tmp_path / "preprocessor_config.json").write_bytes(b" " * (1 << 19))
    (tmp_path / "plain.onnx").write_bytes(detectors.yolov8(size=(64, 64)).SerializeToString())
    assert "more than" in trimtab.load(tmp_path / "plain.onnx", cache=False).hints.refusal


CLASSIFIER = {"task": "classify", "names": {"0": "a"}, "imgsz": [64, 64]}


@pytest.mark.parametrize(
    ("metadata", "name", "channels_last", "relative"),
    [
        ({"task": "detect", "names": {"0": "a"}, "end2end": False}, "metadata.json", False, True),
        ({"task": "detect", "names": {"0": "a"}, "end2end": True}, "metadata.json", False, False),
        ({"task": "detect", "names": {"0": "a"}, "end2end": True}, "metadata.json", True, True),
        (CLASSIFIER, "metadata.json", True, False),
        ({"task": "detect", "names": {0: "a"}}, "temp_meta.txt", True, True),
    ],
)
def test_the_metadata_behind_a_tflite_file_of_ultralytics_are_read(
    metadata: dict[str, Any], name: str, channels_last: bool, relative: bool
) -> None:
    text = json.dumps(metadata) if name.endswith(".json") else str(metadata)
    data = test_hints.tflite_file([0.0], [1.0], text.encode(), name)
    result = hints.read(data, channels_last=channels_last)
    assert result.labels == ("a",)
    assert result.relative == relative
    assert result.heads[0] in ("yolov8", "yolov10", "top_k")
    assert "scale(1/255)" in result.camera
