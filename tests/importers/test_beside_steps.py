"""Steps that files beside a model say, beside the code of the programs that write them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL.Image
import pytest

import trimtab
from tests.camera.frames import Image, network, steps
from tests.importers.test_beside import CLASSES_YML, OCR_YML, VIT, loaded
from tests.some import some
from trimtab import camera
from trimtab.errors import UsageError

IMAGENET_VALUES = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def line_of_paddle_ocr(picture: Image, size: tuple[int, int]) -> Image:
    """`resize_norm_img` of ppocr/data/imaug/rec_img_aug.py."""
    ratio = picture.shape[1] / float(picture.shape[0])
    width = min(size[0], math.ceil(size[1] * ratio))
    resized = cv2.resize(picture[..., ::-1], (width, size[1])).astype(np.float32) / 255
    padded = np.zeros((size[1], size[0], 3), np.float32)
    padded[:, :width] = (resized - 0.5) / 0.5
    return padded


def crop_of_paddle_clas(picture: Image, size: tuple[int, int]) -> Image:
    """ResizeImage, CropImage and NormalizeImage of ppcls/data/preprocess/ops/operators.py."""
    height, width = picture.shape[:2]
    percent = 30 / min(width, height)
    w, h = round(width * percent), round(height * percent)
    resized = cv2.resize(picture, (w, h))
    left, top = (w - size[0]) // 2, (h - size[1]) // 2
    cropped = resized[top : top + size[1], left : left + size[0]].astype(np.float32)
    mean, std = IMAGENET_VALUES
    return np.asarray((cropped / 255 - mean) / std)


def depth_anything(picture: Image, size: tuple[int, int]) -> Image:
    """DPTImageProcessor of transformers, whose result has the `size`."""
    resized = PIL.Image.fromarray(picture).resize(size, PIL.Image.Resampling.BICUBIC)
    return (np.asarray(resized, np.float32) / 255 - 0.5) / 0.5


# Of depth-anything/Depth-Anything-V2-Small-hf, with other numbers.
DEPTH: dict[str, Any] = {
    **VIT, "do_pad": False, "do_rescale": True, "ensure_multiple_of": 14,
    "image_processor_type": "DPTImageProcessor", "keep_aspect_ratio": True, "resample": 3,
    "size": {"height": 56, "width": 56}, "size_divisor": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "computed", "size", "frames"),
    [
        ("inference.yml", OCR_YML, line_of_paddle_ocr, (64, 16), [(90, 31), (33, 40), (300, 20)]),
        ("inference.yml", CLASSES_YML, crop_of_paddle_clas, (24, 24), [(61, 47), (40, 75)]),
        # 56 / 60 is nearer to 1 than 56 / 40, and 40 * 56 / 60 = 37.3 to the multiple 42.
        ("preprocessor_config.json", DEPTH, depth_anything, (56, 42), [(60, 40)]),
    ],
)
def test_pictures_become_what_their_programs_make_of_them(
    tmp_path: Path, name: str, content: Any, computed: Any, size: tuple[int, int], frames: Any
) -> None:
    program = network((1, 3, size[1], size[0]))
    program.hints = loaded(tmp_path, name, content)
    for width, height in some(frames):
        picture = cv2.resize(
            np.random.default_rng(width).integers(0, 256, (9, 9, 3)).astype(np.uint8),
            (width, height),
        )
        view = camera.attach(program, f"camera(rgb, {width}x{height}) | auto")
        result = -trimtab.Session(view, cache=False).run(picture)["y"][0].transpose(1, 2, 0)
        mean, std = ([0.5], [0.5]) if computed is not crop_of_paddle_clas else IMAGENET_VALUES
        of_255 = [(v * std + mean) * 255 for v in (result, computed(picture, size))]
        assert steps(*of_255) <= 1


def test_a_picture_of_another_shape_than_the_network_keeps_is_refused(tmp_path: Path) -> None:
    program = network((1, 3, 56, 56))
    program.hints = loaded(tmp_path, "preprocessor_config.json", DEPTH)
    with pytest.raises(UsageError, match="become an input of 56x42"):
        camera.attach(program, "camera(rgb, 60x40) | auto")
    with pytest.raises(UsageError, match="become an input of 42x56"):
        camera.attach(program, "camera(rgb, 60x40) | rotate(90) | resize_multiple(56, 14)")
    with pytest.raises(UsageError, match="of each size become an input of another size"):
        camera.attach(program, "camera(rgb, 9x9..60x40) | auto")
    camera.attach(program, "camera(rgb, 60x60) | auto")
    zoe = {**DEPTH, "image_processor_type": "ZoeDepthImageProcessor"}
    assert "fits pictures into" in loaded(tmp_path, "preprocessor_config.json", zoe).refusal
