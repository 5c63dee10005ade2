"""Darknet networks: a .cfg (text) with its .weights.

`trimtab.importers.darknet_ops` turns sections into operators. Layers are those of
https://github.com/AlexeyAB/darknet and https://github.com/pjreddie/darknet; where both differ, the
former. Detection heads become boxes as OpenCV gives them: per box x, y, width, height relative to
the image, objectness, and scores. To get a raw head, ask for the layer before it by name: a layer
is called by its type and index, such as `convolutional_120`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError
from trimtab.importers._layers import LayerImport, Value, companion, read_text
from trimtab.importers.darknet_ops import handlers
from trimtab.importers.darknet_ops.cfg import Section, parse
from trimtab.importers.darknet_ops.layer import Layer
from trimtab.importers.darknet_ops.weights import Weights
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".cfg", ".weights")

LIMIT_BYTES = 2**22  # of a .cfg; YOLOv4 has 12 KB

SUPPORTED = "docs/importers.md lists what is supported"

INPUT = "data"

_NET = ("net", "network")

# Sections that only training needs. They count as layers where others are named by index.
_DROPPED = frozenset(("cost", "contrastive"))


def sniff(path: Path) -> bool:
    """Text whose first section is [net]."""
    try:
        text = path.open("rb").read(2**12).decode("ascii", errors="replace")
    except OSError:
        return False
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return first in ("[net]", "[network]")


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the network at `path`, or of the one beside the weights at `path`.

    Without a .weights file a network without weights is a program, too. A given shape of the input
    `data` replaces that of the .cfg. Errors as `trimtab.importers.Importer` lists them.
    """
    text, binary = _pair(path)
    sections = parse(read_text(text, LIMIT_BYTES), str(text))
    if not sections or sections[0].type not in _NET or len(sections) < 2:
        raise ModelFileError(
            "is not a Darknet network: it does not begin with [net] and layers",
            where=str(path),
            hint="give the .cfg file of the network",
        )
    return _Walk(text, sections[1:], Weights(binary)).run(_input_shape(sections[0], inputs))


def _pair(path: Path) -> tuple[Path, Path | None]:
    """Network and weights."""
    if path.suffix != ".weights":
        return path, companion(path, ".weights", lambda _: True)
    if text := companion(path, ".cfg", sniff):
        return text, path
    raise ModelFileError(
        "has no .cfg beside it, which describes the network",
        where=str(path),
        hint=f"put it there under the name {path.stem}.cfg",
    )


def _input_shape(net: Section, inputs: Shapes) -> tuple[int, ...]:
    if unknown := sorted(set(inputs) - {INPUT}):
        raise ImportModelError(
            f"there is no input {', '.join(map(repr, unknown))}",
            where=net.where,
            hint=f"its only input is {INPUT}",
        )
    # Darknet trains on `batch` images; networks are used with one.
    declared = (1, *(net.integer(name, 0) for name in ("channels", "height", "width")))
    shape = tuple(inputs.get(INPUT, declared))
    if len(shape) != 4 or min(shape) < 1:
        raise DynamicShapeError(
            f"input '{INPUT}' has the shape {list(shape)}",
            where=net.where,
            hint=f"give its shape: inputs={{'{INPUT}': (1, 3, 416, 416)}} in Python,"
            f" {INPUT}=1,3,416,416 on the command line",
        )
    return shape


class _Walk:
    """Layers in their order; each reads the one before it, and others by their index."""

    def __init__(self, path: Path, sections: list[Section], weights: Weights) -> None:
        self.path = path
        self.sections = sections
        self.weights = weights
        self.work = LayerImport(path, len(sections))
        # Results by layer; None: not supported.
        self.values: list[Value | None] = []
        self.read: set[int] = set()

    def run(self, shape: tuple[int, ...]) -> Program:
        """The program; its outputs are the layers that no other reads."""
        x: Value | None = self.work.add_input(INPUT, shape)
        image = (shape[2], shape[3])
        for index, section in enumerate(self.sections):
            if section.type in _DROPPED:
                self.read.add(index)
            else:
                x = self._add(section, index, x, image)
            self.values.append(x)
        outputs = [
            (f"{section.type}_{index}", value)
            for index, (section, value) in enumerate(zip(self.sections, self.values, strict=True))
            if index not in self.read and value is not None
        ]
        program = self.work.finish(outputs, SUPPORTED)
        self.weights.check_end()
        return program

    def _add(
        self, section: Section, index: int, x: Value | None, image: tuple[int, int]
    ) -> Value | None:
        handler = handlers().get(section.type)
        layer = Layer(self.work, section, index, x, image, self.values, self.weights)
        with self.work.layer(
            f"{layer.name}, line {section.line}", f"{section.where}: {layer.name}"
        ):
            if handler is None:
                raise layer.unsupported("the engine has no such operator")
            self.read.update(layer.sources())
            if all(i < 0 or self.values[i] is not None for i in layer.sources()):
                first_op = len(self.work.program.ops)
                y = handler(layer)
                if len(self.work.program.ops) > first_op:
                    self.work.rename(y, layer.name, first_op)
                return y
        return None
