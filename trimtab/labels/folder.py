"""Folders of labeled pictures: a class per folder, or boxes in a text file per picture.

    FOLDER/3/cat.jpg                      class 3; or a name that FOLDER/labels.txt has in a line
    FOLDER/street.jpg, FOLDER/street.txt  a box per line: class, center x, center y, width, height

The boxes are those of Ultralytics' data sets, relative to the picture; their text files may also
lie in the folder `labels` beside a folder `images`. A picture without boxes has an empty file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import UsageError
from trimtab.quantization.picture_samples import PICTURES

_HINT = "docs/tasks.md#card shows both forms of a folder"


@dataclass(frozen=True)
class LabeledBox:
    """A box of a class: center and size relative to the picture."""

    class_index: int
    x: float
    y: float
    width: float
    height: float

    def corners(self, width: int, height: int) -> tuple[float, float, float, float]:
        """xmin, ymin, xmax, ymax in the pixels of a picture of this size."""
        half_width, half_height = self.width / 2, self.height / 2
        return (
            (self.x - half_width) * width,
            (self.y - half_height) * height,
            (self.x + half_width) * width,
            (self.y + half_height) * height,
        )


@dataclass(frozen=True)
class LabeledFolder:
    """Pictures with a class each, or with boxes each; the other mapping is empty."""

    path: Path
    classes: Mapping[Path, int]
    boxes: Mapping[Path, Sequence[LabeledBox]]

    @property
    def top_class(self) -> int:
        """The largest class of any label."""
        of_boxes = (box.class_index for boxes in self.boxes.values() for box in boxes)
        return max((*self.classes.values(), *of_boxes), default=0)


def read(path: Path) -> LabeledFolder:
    """Reads the labels of a folder; UsageError, with the file, for what is malformed or missing."""
    if not path.is_dir():
        raise UsageError("there is no such folder of labeled pictures", where=str(path), hint=_HINT)
    pictures = sorted(file for file in path.rglob("*") if file.suffix.lower() in PICTURES)
    if not pictures:
        raise UsageError("the folder holds no pictures", where=str(path), hint=_HINT)
    texts = {picture: _text_of(picture) for picture in pictures}
    if any(text.is_file() for text in texts.values()):
        return LabeledFolder(path, {}, {picture: _boxes(text) for picture, text in texts.items()})
    names = _names(path / "labels.txt")
    return LabeledFolder(path, {picture: _class(path, picture, names) for picture in pictures}, {})


def _text_of(picture: Path) -> Path:
    """The file of a picture's boxes."""
    beside = picture.with_suffix(".txt")
    if beside.is_file() or "images" not in picture.parts[:-1]:
        return beside
    parts = list(picture.parts)
    parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return Path(*parts).with_suffix(".txt")


def _boxes(path: Path) -> list[LabeledBox]:
    if not path.is_file():
        raise UsageError(
            "the picture of this name has no boxes", where=str(path), hint="an empty file says so"
        )
    boxes = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            word, *words = line.split()
            index, sizes = int(word), tuple(map(float, words))
            if len(sizes) != 4 or index < 0 or not all(map(math.isfinite, sizes)):
                raise ValueError
            if min(sizes[2:]) <= 0 or not all(0 <= size <= 1 for size in sizes):
                raise ValueError
        except ValueError:
            raise UsageError(
                f"{line!r:.60} is not a box: class, center x, center y, width and height, of which "
                "the last four are parts of the picture, from 0 to 1",
                where=f"{path}:{number}",
                hint=_HINT,
            ) from None
        boxes.append(LabeledBox(index, *sizes))
    return boxes


def _names(path: Path) -> Mapping[str, int]:
    """The classes by name; empty without such a file."""
    lines = _lines(path) if path.is_file() else []
    return {line.strip(): number for number, line in enumerate(lines) if line.strip()}


def _class(folder: Path, picture: Path, names: Mapping[str, int]) -> int:
    name = picture.relative_to(folder).parts[0]
    if name in names:
        return names[name]
    if picture.parent != folder and name.isascii() and name.isdigit():
        return int(name)
    raise UsageError(
        "the picture has neither boxes in a text file of its name nor a class: its folder is no "
        "number and no line of labels.txt",
        where=str(picture),
        hint=_HINT,
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the labels cannot be read: {error}", where=str(path)) from error
