"""Calibration samples: arrays in an .npz file, or pictures in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from trimtab import array_files, input_arrays
from trimtab.errors import CalibrationError
from trimtab.quantization.observer import FLOAT32_MAX
from trimtab.toml_table import TomlFile

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]
Feed = Mapping[str, Array]

PICTURES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm"))
# The formats of these suffixes, by Pillow's names: a file of another name may be of a format that
# Pillow reads by starting a program.
_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "WEBP", "PPM")
SETTINGS = "pictures.toml"  # in the folder, beside the pictures
_SETTINGS_HINT = (
    'keys: mean and scale (one number, or one per channel), channels = "rgb" or "bgr", and '
    'resize = "stretch", "crop" or "letterbox" (docs/quantization.md)'
)
_HELD_OUT = 5  # every fifth sample is held out of calibration


@dataclass(frozen=True)
class Samples:
    """Samples by number: `feed(i)` returns an array for every graph input, in its shape and type.

    `is_seeded`: the samples are seeded noise instead of data.
    """

    count: int
    feed: Callable[[int], Feed]
    is_seeded: bool = False

    @property
    def calibrating(self) -> Samples:
        """The samples for ranges; all, if there are too few to hold any out."""
        return self._subset([i for i in range(self.count) if not self._is_held_out(i)])

    @property
    def held_out(self) -> Samples:
        """The samples that measure accuracy: every fifth one; all, if there are fewer than five."""
        indices = [i for i in range(self.count) if self._is_held_out(i)]
        return self._subset(indices) if indices else self

    def half(self, i: int) -> int:
        """0 or 1: the half of a sample, which contains its neighbors, because these are similar."""
        return 2 * i // self.count

    def __iter__(self) -> Iterator[Feed]:
        return map(self.feed, range(self.count))

    def _is_held_out(self, i: int) -> bool:
        return i % _HELD_OUT == _HELD_OUT - 1

    def _subset(self, indices: Sequence[int]) -> Samples:
        return Samples(len(indices), lambda i: self.feed(indices[i]), self.is_seeded)


Inputs = Mapping[str, tuple[tuple[int, ...], str]]
"""Shape and numpy dtype name by graph input."""


def read(path: Path, inputs: Inputs, *, cast: bool = False) -> Samples:
    """Reads the .npz file or the folder of pictures at `path`; `cast` converts arrays of other
    element types than the inputs have.

    CalibrationError names the file and the requirements of a network with these inputs.
    """
    check_exists(path)
    return _pictures(path, inputs) if path.is_dir() else _arrays(path, inputs, cast)


def check_exists(path: Path) -> None:
    """CalibrationError if there is neither a file nor a folder at `path`."""
    if not (path.is_dir() or path.is_file()):
        raise CalibrationError(
            "no such file or folder",
            where=str(path),
            hint="give an .npz file with an array for every input, or a folder of pictures",
        )


def of_arrays(
    arrays: Mapping[str, Array],
    inputs: Inputs,
    where: str = "samples",
    *,
    cast: bool = False,
    how: str = "cast=True",
) -> Samples:
    """The n samples in arrays [n * b, ...] or [n, b, ...], for inputs of shape [b, ...].

    The arrays have the element types of the inputs, or are converted by `cast`, which `how` names
    for users.
    """
    if set(arrays) != set(inputs):
        raise CalibrationError(
            f"its arrays are {', '.join(arrays) or 'none'}",
            where=where,
            hint=f"the inputs of the network are {', '.join(inputs)}",
        )
    typed = {
        name: input_arrays.converted(
            arrays[name],
            np.dtype(dtype),
            name=name,
            cast=cast,
            error=CalibrationError,
            where=where,
            how=how,
        )
        for name, (_, dtype) in inputs.items()
    }
    split = {name: _split(name, typed[name], shape, where) for name, (shape, _) in inputs.items()}
    counts = {name: len(rows) for name, rows in split.items()}
    if len(set(counts.values())) != 1 or not min(counts.values()):
        listed = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise CalibrationError(
            f"the number of samples must be equal and not 0: {listed}",
            where=where,
            hint="provide the same number of samples for every input, 100 or more of real data",
        )
    return Samples(min(counts.values()), lambda i: {name: rows[i] for name, rows in split.items()})


def _split(name: str, array: Array, shape: tuple[int, ...], where: str) -> Array:
    whole = array.shape[1:] == shape
    rows = array.ndim == len(shape) and array.shape[1:] == shape[1:]
    if not (whole or (rows and array.shape[0] % shape[0] == 0)):
        raise CalibrationError(
            f"array '{name}' has the shape {list(array.shape)}",
            where=where,
            hint=f"input '{name}' is {list(shape)}: stack samples along the first axis",
        )
    if not np.isfinite(array).all():
        raise CalibrationError(
            f"array '{name}' has elements that are not finite numbers",
            where=where,
            hint="remove samples with NaN or infinity (numpy.isfinite finds them)",
        )
    return array.reshape(-1, *shape)


_NPZ_HINT = "write it with numpy.savez(path, INPUT=array)"


def _arrays(path: Path, inputs: Inputs, cast: bool) -> Samples:
    if path.suffix.lower() in PICTURES:
        raise CalibrationError(
            "is a single picture",
            where=str(path),
            hint="name the folder that contains the pictures",
        )
    arrays = array_files.read_archive(path, error=CalibrationError, hint=_NPZ_HINT)
    how = "cast=True, or --cast of a task,"
    return of_arrays(arrays, inputs, str(path), cast=cast, how=how)


def noise(inputs: Inputs, count: int = 20) -> Samples:
    """Seeded noise, for untrained networks such as those of the zoo.

    Images: standard normal on a grid of 8 x 8, interpolated linearly. Other shapes: standard
    normal. Integers, which may be indices: 0 or 1.
    """

    def feed(i: int) -> Feed:
        rng = np.random.default_rng((7, i))
        return {name: _noise(rng, shape, dtype) for name, (shape, dtype) in inputs.items()}

    return Samples(count, feed, is_seeded=True)


def _noise(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    is_float = np.dtype(dtype).kind == "f"
    return (_smooth(rng, shape) if is_float else rng.integers(0, 2, shape)).astype(dtype)


def _smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if len(shape) != 4:
        return rng.standard_normal(shape)
    values = rng.standard_normal((*shape[:2], 8, 8))
    for axis in (2, 3):
        at = np.linspace(0, 7, shape[axis])
        low = np.minimum(at.astype(int), 6)
        weight = np.reshape(at - low, [-1 if a == axis else 1 for a in range(4)])
        values = values.take(low, axis) * (1 - weight) + values.take(low + 1, axis) * weight
    return values


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


def _pictures(folder: Path, inputs: Inputs) -> Samples:
    shapes = [shape for shape, _ in inputs.values()]
    if len(shapes) != 1 or len(shapes[0]) != 4 or shapes[0][0] != 1 or shapes[0][1] not in (1, 3):
        listed = ", ".join(f"{name} {list(shape)}" for name, (shape, _) in inputs.items())
        raise CalibrationError(
            f"pictures do not fit the inputs {listed}",
            where=str(folder),
            hint="pictures need a single input [1, 3 or 1, h, w]; use an .npz file with arrays",
        )
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
    if not files:
        raise CalibrationError(
            "it has no pictures", where=str(folder), hint=f"formats: {', '.join(sorted(PICTURES))}"
        )
    ((name, (shape, dtype)),) = inputs.items()
    settings = Pictures.read(folder / SETTINGS)
    return Samples(
        len(files), lambda i: {name: read_picture(files[i], shape, settings).astype(dtype)}
    )


def read_picture(path: Path, shape: tuple[int, ...], settings: Pictures) -> Array:
    """Reads a picture as float32 [1, c, h, w]."""
    _, channels, height, width = shape
    picture = open_picture(path, "RGB" if channels == 3 else "L")
    fitted = _fitted(picture, width, height, settings)
    values = np.asarray(fitted, np.float32).reshape(height, width, channels)
    if settings.channels == "bgr":
        values = values[:, :, ::-1]
    mean, scale = (np.array(numbers, np.float32) for numbers in (settings.mean, settings.scale))
    values = (values - mean) * scale
    if values.shape[2] != channels:
        raise CalibrationError(
            f"mean and scale have 3 channels, but the input has {channels}",
            where=str(path.parent / SETTINGS),
            hint="write one number each",
        )
    return np.ascontiguousarray(values.transpose(2, 0, 1))[np.newaxis]


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


def _fitted(image: Image.Image, width: int, height: int, settings: Pictures) -> Image.Image:
    from PIL import Image, ImageOps

    if settings.resize == "crop":
        return ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)
    if settings.resize == "letterbox":
        gray = tuple([114] * len(image.getbands()))
        return ImageOps.pad(
            image, (width, height), Image.Resampling.BILINEAR, color=gray if len(gray) > 1 else 114
        )
    return image.resize((width, height), Image.Resampling.BILINEAR)
