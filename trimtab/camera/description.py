"""The description of a camera and of the preprocessing of its frames, as text and as a value.

    camera(nv12, 1920x1080) | letterbox(640, 114) | rgb | scale(1/255)

Steps are in the order in which they happen; docs/camera.md lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trimtab import schema
from trimtab.camera.families import FAMILIES
from trimtab.camera.formats import FORMATS, PixelFormat
from trimtab.camera.placement import ROTATIONS, FramePlacement
from trimtab.engine import engine
from trimtab.errors import UsageError

METHODS = ("nearest", "bilinear", "area", "antialias", "bicubic", "antialias_bicubic")
CENTERS = ("half_pixel", "asymmetric", "align_corners")
CORNERS = ("center", "top_left")
CHANNELS = ("rgb", "bgr", "gray")
AUTO = "auto"
"""The step that stands for those that the model's file says."""

MAX_SIDE = 1 << 14
"""The largest width and height of a frame and of a network's input, in pixels."""

Size = tuple[int, int]  # width, height


@dataclass(frozen=True)
class Camera:
    """A camera, and how its frames become the input of a network.

    `format`, `width`, `height`: of a frame; with `min_size`, width and height of the smallest one,
    those of the largest one. `stride`: bytes of a row, 0: no padding. `range`,
    `matrix`: of YUV. `crop`: left, top, width, height in the frame; then it is turned clockwise by
    `rotation` degrees. `fit`: "stretch", "letterbox", "line" (of text: as high as the result, at
    its left, and not longer), or "center_crop" after the shorter side has become `shorter` pixels
    (0: 8/7 of the result's), "center_crop_rounded" with PaddleClas' rounding. `size`: width and
    height of the result, None: those of the network's input. `multiple` (width, height, n): what
    `attach` requires of that size. `color` (red, green, blue) fills the rest, and `corner` says
    where the picture is. `method`, `centers`: of the resize. Each value v of `channels` becomes
    v * scale + offset. `follows_model`: the steps are those that the model's file says.
    """

    format: str
    width: int
    height: int
    stride: int = 0
    range: str = "limited"
    matrix: str = "bt601"
    crop: tuple[int, int, int, int] | None = None
    rotation: int = 0
    fit: str = "stretch"
    size: Size | None = None
    shorter: int = 0
    multiple: tuple[int, int, int] | None = None
    color: tuple[float, float, float] = (0, 0, 0)
    corner: str = "center"
    method: str = "bilinear"
    centers: str = "half_pixel"
    channels: str = "rgb"
    scale: tuple[float, ...] = (1.0,)
    offset: tuple[float, ...] = (0.0,)
    min_size: Size | None = None
    follows_model: bool = False

    @property
    def pixels(self) -> PixelFormat:
        """The format of a frame's pixels."""
        return FORMATS[self.format]

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """The shape of the uint8 array of a frame."""
        return self.pixels.shape(self.width, self.height, self.stride)

    @property
    def channel_count(self) -> int:
        """The number of channels of the result."""
        return 1 if self.channels == "gray" else 3

    @property
    def region(self) -> tuple[int, int, int, int]:
        """The part of the frame that is used: left, top, width, height."""
        return self.crop or (0, 0, self.width, self.height)

    def content(self, size: Size) -> tuple[int, int, int, int]:
        """The picture in a result of `size`: left, top, width, height; it may exceed the result,
        which cuts it then.
        """
        _, _, width, height = self.region
        if self.rotation in (90, 270):
            width, height = height, width
        fit = schema.operator("camera_image").attribute("fit").number(self.fit_of_frames)
        left, top, across, down = engine().fit_frame(
            fit, self.resized_crop(size), (width, height), size
        )
        return left, top, across, down

    @property
    def fit_of_frames(self) -> str:
        """The operator's `fit` where frames differ in size."""
        is_at_corner = self.fit == "letterbox" and self.corner == "top_left"
        return "letterbox_top_left" if is_at_corner else self.fit

    def resized_crop(self, size: Size) -> int:
        """The shorter side, in pixels, of the picture before a center crop to `size`."""
        return self.shorter or round(max(size) * 8 / 7)  # 256 for 224

    def placement(self, size: Size | None = None) -> FramePlacement:
        """The place of a frame in the network's input of `size` (default: the description's)."""
        size = self.size or size
        if size is None:
            raise UsageError("the camera's description has no size", hint="write letterbox(640)")
        left, top, width, height = self.content(size)
        x, y, across, down = self.region
        # The turned frame's edges beside the turned region.
        right, below = self.width - x - across, self.height - y - down
        before = {0: (x, y), 90: (below, x), 180: (right, below), 270: (y, right)}[self.rotation]
        if self.rotation in (90, 270):
            across, down = down, across
        scale = width / across, height / down
        return FramePlacement(
            *(self.width, self.height, *scale),
            left - before[0] * scale[0],
            top - before[1] * scale[1],
            self.rotation,
        )


class _CameraSteps:
    """Steps by name; each returns the camera after it, for its arguments. ValueError, with the form
    of the step, if they are malformed.
    """

    def crop(self, camera: Camera, words: Sequence[str]) -> Camera:
        left, top, width, height = _integers(words)
        if min(left, top) < 0 or min(width, height) < 1:
            raise ValueError
        if camera.min_size:
            raise UsageError(
                "frames that differ in size have no crop in the description",
                hint="pass the crop with each image: trimtab_set_image, trimtab.camera.Frame",
            )
        if left + width > camera.width or top + height > camera.height:
            raise UsageError(
                f"the crop {', '.join(words)} exceeds the frame of {camera.width}x{camera.height}",
                hint="write crop(left, top, width, height) in the frame's pixels",
            )
        return replace(camera, crop=(left, top, width, height))

    def rotate(self, camera: Camera, words: Sequence[str]) -> Camera:
        (degrees,) = _integers(words)
        if degrees not in ROTATIONS:
            raise ValueError
        return replace(camera, rotation=degrees)

    def resize(self, camera: Camera, words: Sequence[str]) -> Camera:
        camera, rest = _resampling(camera, words)
        (size,) = [_target(word) for word in rest] or [None]
        return replace(camera, fit="stretch", size=size)

    def letterbox(self, camera: Camera, words: Sequence[str]) -> Camera:
        camera, rest = _resampling(camera, words)
        size = _target(rest[0]) if rest else None
        color = [_number(word) for word in rest[1:]] or [0]
        if len(color) not in (1, 3) or not all(0 <= value <= 255 for value in color):
            raise ValueError
        red, green, blue = color * (3 // len(color))
        return replace(camera, fit="letterbox", size=size, color=(red, green, blue))

    def line(self, camera: Camera, words: Sequence[str]) -> Camera:
        return replace(self.letterbox(camera, words), fit="line")

    def resize_multiple(self, camera: Camera, words: Sequence[str]) -> Camera:
        camera, rest = _resampling(camera, words)
        word, multiple = rest
        target, n = _size(word), int(multiple)
        if n < 1:
            raise ValueError
        return replace(camera, fit="stretch", multiple=(*target, n))

    def center_crop(self, camera: Camera, words: Sequence[str]) -> Camera:
        is_rounded = "rounded" in words
        camera, rest = _resampling(camera, [word for word in words if word != "rounded"])
        size = _target(rest[0]) if rest else None
        (shorter,) = _integers(rest[1:]) or [0]
        if not 0 <= shorter <= MAX_SIDE or (size and shorter and shorter < max(size)):
            raise ValueError
        fit = "center_crop_rounded" if is_rounded else "center_crop"
        return replace(camera, fit=fit, size=size, shorter=shorter)

    def scale(self, camera: Camera, words: Sequence[str]) -> Camera:
        return _affine(camera, words, lambda value: (value, 0.0))

    def mean(self, camera: Camera, words: Sequence[str]) -> Camera:
        return _affine(camera, words, lambda value: (1.0, -value))

    def std(self, camera: Camera, words: Sequence[str]) -> Camera:
        return _affine(camera, words, lambda value: (1.0 / value, 0.0))


_FORMS = {
    "camera": "camera(FORMAT, WIDTHxHEIGHT), such as camera(nv12, 1920x1080), or "
    "camera(nv12, 64x64..1920x1080) for frames of any size between",
    "crop": "crop(left, top, width, height)",
    "rotate": "rotate(90), rotate(180) or rotate(270), clockwise",
    "resize": f"resize(auto) or resize(640x384, METHOD), METHOD one of {', '.join(METHODS)}",
    "letterbox": "letterbox(640), letterbox(640x384, 114) or letterbox(640, 0, 0, 0, top_left)",
    "line": "line(auto) or line(320x48, 127.5): as high as the result, and not longer",
    "resize_multiple": "resize_multiple(518x518, 14): sides that are multiples of 14",
    "center_crop": "center_crop(224, 256): of a picture whose shorter side is 256",
    "scale": "scale(1/255) or scale(a, b, c), a factor for each channel",
    "mean": "mean(127.5) or mean(a, b, c), which is subtracted",
    "std": "std(0.5) or std(a, b, c), which divides",
}
# Steps of a later stage follow those of an earlier one; all but the last occur once.
_STAGES = (
    ("crop",),
    ("rotate",),
    ("resize", "letterbox", "center_crop", "line", "resize_multiple"),
    CHANNELS,
    ("scale", "mean", "std"),
)
STEPS = tuple(name for names in _STAGES for name in names)
_STEP = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")


def parse(text: str) -> Camera:
    """The camera that a text describes; UsageError for a malformed one."""
    first, *steps = [_split(step, text) for step in text.split("|")]
    camera = _source(*first)
    if [name for name, _ in steps] == [AUTO] and not steps[0][1]:
        return replace(camera, follows_model=True)
    return _after(camera, steps, text)


def with_steps(camera: Camera, steps: str) -> Camera:
    """The camera with the steps of a text, such as a model's file says; UsageError for a malformed
    one.
    """
    parts = [_split(step, steps) for step in steps.split("|")]
    return _after(replace(camera, follows_model=False), parts, steps)


def _after(camera: Camera, steps: Sequence[tuple[str, list[str]]], text: str) -> Camera:
    expanded = []
    for name, words in steps:
        if name in FAMILIES:
            own = [_split(step, text) for step in FAMILIES[name].split("|")]
            if len(words) > 1:
                raise _malformed(name, f"{name} or {name}(SIZE)", text)
            own[0][1][: len(words)] = words
            expanded += own
        else:
            expanded.append((name, words))
    stage = -1
    for name, words in expanded:
        at = next((i for i, names in enumerate(_STAGES) if name in names), -1)
        if at < 0:
            raise UsageError(
                f"the camera's description has an unknown step {name!r}",
                where=text,
                hint=f"use {', '.join((*STEPS, *FAMILIES))}",
            )
        if at < stage or (at == stage and at < len(_STAGES) - 1):
            raise UsageError(
                f"the step {name!r} cannot follow the one before it",
                where=text,
                hint="the order is crop, rotate, one resize, one order of channels, scale and mean",
            )
        stage = at
        if name in CHANNELS:
            if words:
                raise _malformed(name, name, text)
            camera = replace(camera, channels=name)
            continue
        try:
            camera = getattr(_CameraSteps(), name)(camera, words)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise _malformed(name, _FORMS[name], text) from None
    return camera


def _split(step: str, text: str) -> tuple[str, list[str]]:
    match = _STEP.fullmatch(step)
    if match is None:
        raise _malformed(step.strip(), "NAME or NAME(argument, ...), with | in between", text)
    return match[1], [word.strip() for word in (match[2] or "").split(",") if word.strip()]


def _malformed(step: str, form: str, text: str) -> UsageError:
    return UsageError(f"cannot read the step {step!r}", where=text, hint=f"write it as {form}")


def _source(name: str, words: list[str]) -> Camera:
    text = f"{name}({', '.join(words)})"
    if name != "camera" or len(words) < 2 or words[0] not in FORMATS:
        form = f"{_FORMS['camera']}; formats are {', '.join(FORMATS)}"
        raise _malformed(text, form, text)
    try:
        smallest, dots, largest = words[1].rpartition("..")
        width, height = _size(largest)
        camera = Camera(words[0], width, height, min_size=_size(smallest) if dots else None)
        if camera.min_size and (camera.min_size[0] > width or camera.min_size[1] > height):
            raise ValueError
        for word in words[2:]:
            if word in ("full", "limited"):
                camera = replace(camera, range=word)
            elif word in ("bt601", "bt709"):
                camera = replace(camera, matrix=word)
            elif match := re.fullmatch(r"stride (\d+)", word):
                camera = replace(camera, stride=int(match[1]))
            else:
                raise ValueError
    except ValueError:
        form = f"{_FORMS['camera']}; then full or limited, bt601 or bt709, stride BYTES"
        raise _malformed(text, form, text) from None
    least = camera.pixels.row_bytes(width)
    if camera.stride and (camera.stride < least or (camera.pixels.paired and camera.stride % 2)):
        raise UsageError(
            f"a row of {width} pixels of {camera.format} does not fit {camera.stride} bytes",
            hint=f"give an even stride of {least} bytes or more",
        )
    return camera


def _resampling(camera: Camera, words: Sequence[str]) -> tuple[Camera, list[str]]:
    """The camera with the method, the pixel centers and the corner among `words`, and the rest."""
    rest = []
    for word in words:
        if word in METHODS:
            camera = replace(camera, method=word)
        elif word in CENTERS:
            camera = replace(camera, centers=word)
        elif word in CORNERS:
            camera = replace(camera, corner=word)
        else:
            rest.append(word)
    return camera, rest


def _target(word: str) -> Size | None:
    """The size of a result; "auto" -> None."""
    return None if word == "auto" else _size(word)


def _size(word: str) -> Size:
    """ "640" -> (640, 640), "640x384" -> (640, 384)."""
    width, _, height = word.partition("x")
    size = int(width), int(height or width)
    if not all(1 <= side <= MAX_SIDE for side in size):
        raise ValueError
    return size


def _integers(words: Sequence[str]) -> list[int]:
    return [int(word) for word in words]


def _affine(
    camera: Camera, words: Sequence[str], step: Callable[[float], tuple[float, float]]
) -> Camera:
    """The camera with factor and summand of each channel after those that it has."""
    values = [_number(word) for word in words]
    if len(values) not in (1, camera.channel_count):
        raise ValueError
    count = max(len(values), len(camera.scale))
    factors = [step(value) for value in values * (count // len(values))]
    scales, offsets = (list(v) * (count // len(v)) for v in (camera.scale, camera.offset))
    return replace(
        camera,
        scale=tuple(s * f for s, (f, _) in zip(scales, factors, strict=True)),
        offset=tuple(o * f + a for o, (f, a) in zip(offsets, factors, strict=True)),
    )


def _number(word: str) -> float:
    """A number or a fraction, "1/255"; ValueError unless it is finite and of a sensible size."""
    above, _, below = word.partition("/")
    number = float(above) / float(below or 1)
    if not abs(number) < 1e6:
        raise ValueError
    return number
