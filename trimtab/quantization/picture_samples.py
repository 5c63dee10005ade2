"""Pictures as calibration samples, and the one way from a picture to a network's input: the steps
of a camera (`trimtab.camera`), which `--input`, the folder's pictures.toml or the model's file say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from trimtab import camera
from trimtab.camera import Camera
from trimtab.errors import CalibrationError
from trimtab.program import Program
from trimtab.quantization import samples
from trimtab.quantization.observer import FLOAT32_MAX
from trimtab.quantization.samples import Inputs, Samples
from trimtab.session import Session
from trimtab.toml_table import TomlFile

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]
Shape = tuple[int, ...]

PICTURES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm"))
# The formats of these suffixes, by Pillow's names: a file of another name may be of a format that
# Pillow reads by starting a program.
_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "WEBP", "PPM")
SETTINGS = "pictures.toml"  # in the folder, beside the pictures
_SETTINGS_HINT = (
    'keys: mean and scale (one number, or one per channel), channels = "rgb" or "bgr", and '
    'resize = "stretch", "crop" or "letterbox" (docs/quantization.md)'
)
_GRAY = 114  # around a letterboxed picture
_CACHED_BYTES = 1 << 28  # of inputs, which several passes over the samples read


@dataclass(frozen=True)
class _PicturesFile:
    """The keys of the file."""

    mean: float | tuple[float, ...] = 0.0
    scale: float | tuple[float, ...] = 1 / 255
    channels: Literal["rgb", "bgr"] = "rgb"
    resize: Literal["stretch", "crop", "letterbox"] = "stretch"


@dataclass(frozen=True)
class Pictures:
    """Preprocessing of pictures, as in the training of the network.

    An input is (value - mean) * scale of values 0 to 255; `mean` and `scale` are one number or one
    per channel. `channels`: their order, "rgb" or "bgr". `resize`: "stretch", "crop" (the center)
    or "letterbox" (padded with gray 114).
    """

    mean: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1 / 255,)
    channels: str = "rgb"
    resize: str = "stretch"

    @staticmethod
    def read(path: Path) -> Pictures:
        """Reads the TOML file at `path`; the defaults if it does not exist."""
        if not path.exists():
            return Pictures()
        file = TomlFile(path, CalibrationError, hint=_SETTINGS_HINT)
        settings = file.record(_PicturesFile)
        mean, scale = (
            value if isinstance(value, tuple) else (value,)
            for value in (settings.mean, settings.scale)
        )
        for key, numbers in (("mean", mean), ("scale", scale)):
            if len(numbers) not in (1, 3) or not all(abs(n) <= FLOAT32_MAX for n in numbers):
                raise file.wrong(key, "a float32 number, or one per channel")
        if 0 in scale:
            raise CalibrationError(
                "`scale` is 0: all pictures would be equal",
                where=str(path),
                hint="scale multiplies the values after mean is subtracted; the default is 0.0039 "
                "(1 / 255)",
            )
        return Pictures(mean, scale, settings.channels, settings.resize)

    def view(self, width: int, height: int, shape: Shape) -> Camera:
        """The camera of a picture of `width` and `height` in front of an input of `shape`."""
        channels, (across, down) = _channels(shape), _size(shape)
        count = max(len(self.mean), len(self.scale))
        if count > channels:
            raise CalibrationError(
                f"mean and scale have 3 channels, but the input has {channels}",
                where=SETTINGS,
                hint="write one number each",
            )
        means, scales = (v * (count // len(v)) for v in (self.mean, self.scale))
        crop = None
        if self.resize == "crop":  # the largest part of the picture in the input's proportions
            w, h = min(width, height * across / down), min(height, width * down / across)
            w, h = max(1, round(w)), max(1, round(h))
            crop = ((width - w) // 2, (height - h) // 2, w, h)
        return Camera(
            *("rgb", width, height),
            crop=crop,
            fit="letterbox" if self.resize == "letterbox" else "stretch",
            color=(_GRAY, _GRAY, _GRAY),
            method="antialias",
            channels=self.channels if channels > 1 else "gray",
            scale=scales,
            offset=tuple(-m * s for m, s in zip(means, scales, strict=True)),
        )


def read(
    path: Path,
    inputs: Inputs,
    *,
    cast: bool = False,
    views: Mapping[str, Camera] | None = None,
    steps: str = "",
) -> Samples:
    """The samples in the .npz file or the folder of pictures at `path` for a network with these
    inputs; `cast` converts arrays of other element types.

    `views`: the camera of an input by its name, or by "" if that is the only one: `--input`. Else
    the folder's pictures.toml says the steps of pictures, or the model's file, as the text `steps`;
    without any, they are stretched, in RGB from 0 to 1.

    CalibrationError names the file and the requirements of the network.
    """
    samples.check_exists(path)
    if path.is_dir():
        return _of_folder(path, inputs, views or {}, steps)
    if path.suffix.lower() in PICTURES:
        raise CalibrationError(
            "is a single picture",
            where=str(path),
            hint="name the folder that contains the pictures",
        )
    return samples.of_archive(path, inputs, cast=cast)


def _of_folder(folder: Path, inputs: Inputs, views: Mapping[str, Camera], steps: str) -> Samples:
    name, shape, dtype = _input(folder, inputs)
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
    if not files:
        raise CalibrationError(
            "it has no pictures", where=str(folder), hint=f"formats: {', '.join(sorted(PICTURES))}"
        )
    view = next((v for own, v in views.items() if own in ("", name)), None)
    settings = Pictures()
    if np.dtype(dtype).kind in "iu":  # pixels as they are
        settings = replace(settings, scale=(1.0,))
    origin = "by default stretched, in RGB from 0 to 1"
    if view:
        origin = "as --input says"
    elif (folder / SETTINGS).exists():
        settings, origin = Pictures.read(folder / SETTINGS), f"as {SETTINGS} says"
    elif steps:
        view, origin = camera.parse_view(steps)[1], f"as the model's file says: {steps}"

    @lru_cache(max(1, _CACHED_BYTES // (4 * int(np.prod(shape)))))
    def feed(i: int) -> Array:
        pixels = read_pixels(files[i])
        height, width = pixels.shape[:2]
        own = (
            camera.of_picture(view, width, height) if view else settings.view(width, height, shape)
        )
        values = seen(pixels, own, shape).astype(dtype)
        values.flags.writeable = False
        return values

    return Samples(len(files), lambda i: {name: feed(i)}, origin=origin)


def _input(folder: Path, inputs: Inputs) -> tuple[str, Shape, str]:
    """The only input with its shape and type; CalibrationError if it takes no picture."""
    if len(inputs) == 1:
        ((name, (shape, dtype)),) = inputs.items()
        if len(shape) == 4 and shape[0] == 1 and {shape[1], shape[3]} & {1, 3}:
            return name, shape, dtype
    listed = ", ".join(f"{name} {list(shape)}" for name, (shape, _) in inputs.items())
    raise CalibrationError(
        f"pictures do not fit the inputs {listed}",
        where=str(folder),
        hint="pictures need a single input of one picture, [1, 3 or 1, h, w] or [1, h, w, 3 or 1]; "
        "use an .npz file with arrays",
    )


def _channels(shape: Shape) -> int:
    return shape[1] if shape[1] in (1, 3) else shape[3]


def _size(shape: Shape) -> tuple[int, int]:
    """Width and height of an input [1, c, h, w] or [1, h, w, c]."""
    return (shape[3], shape[2]) if shape[1] in (1, 3) else (shape[2], shape[1])


def read_picture(path: Path, shape: Shape, settings: Pictures) -> Array:
    """Reads a picture as float32 of `shape`, [1, c, h, w] or [1, h, w, c]."""
    pixels = read_pixels(path)
    height, width = pixels.shape[:2]
    return seen(pixels, settings.view(width, height, shape), shape)


def seen(pixels: Array, view: Camera, shape: Shape) -> Array:
    """The float32 values of an input of `shape` for a picture, uint8[h, w, 3], behind a camera of
    its size. UsageError for a view that does not fit.
    """
    return _session(view, shape).run({"picture": pixels})["value"]


@lru_cache(16)
def _session(view: Camera, shape: Shape) -> Session:
    """The preprocessing alone."""
    alone = Program("preprocessing")
    alone.add_input("picture", shape, "f32")
    alone.block.ops = [alone.block.make_op("reshape", ["picture"], {"shape": shape}, ["value"])]
    alone.outputs[:] = ["value"]
    return Session(camera.attach(alone, view))


def read_pixels(path: Path) -> Array:
    """The picture as RGB, uint8[h, w, 3], turned as its camera says. CalibrationError if it cannot
    be read.
    """
    return np.ascontiguousarray(open_picture(path, "RGB", upright=True))


def open_picture(path: Path, mode: str | None, *, upright: bool = False) -> Image.Image:
    """The picture of a file, in Pillow's `mode`, or in its own; `upright`: turned as its camera
    says.

    CalibrationError without Pillow, or if the file is no picture.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise CalibrationError(
            "reading pictures needs Pillow, which is not installed",
            where=str(path),
            hint="install trimtab[pictures], or use an .npz file with arrays",
        ) from error
    try:
        with Image.open(path, formats=_FORMATS) as image:
            turned = ImageOps.exif_transpose(image) if upright else image
            return turned.convert(mode or image.mode)
    except Exception as error:  # the decoders of Pillow raise many kinds for damaged files
        reason = str(error) or type(error).__name__
        raise CalibrationError(
            f"is not a picture: {reason}",
            where=str(path),
            hint="remove it from the folder, or save it again",
        ) from error
