"""TFLite models (.tflite): float32, int8 or uint8, or with weights of these types or float16.

Activations of 16 bits are computed in float32; inputs and outputs of that type are int32.

Inputs and outputs keep the shapes of the file, [n, h, w, c] for images.
`trimtab.importers.tflite_ops` reads the file and translates its operators. Format:
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/lite/schema/schema.fbs.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import head
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".tflite",)


def sniff(path: Path) -> bool:
    """Whether the file has the identifier of the format at byte 4."""
    return head(path, 8)[4:] == b"TFL3"


def files(path: Path) -> list[Path]:
    """The model's only file."""
    return [path]


def load(path: Path, inputs: Shapes) -> Program:
    """Translates the model at `path`; see `trimtab.importers.Importer` for errors."""
    from trimtab.importers.tflite_ops import network

    return network.load(path, inputs)
