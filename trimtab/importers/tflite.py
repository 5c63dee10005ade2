"""TFLite models (.tflite): of floats, of int8 or uint8, or with weights of either or of float16.

Inputs and outputs keep the file's shapes, [n, h, w, c] for images. `trimtab.importers.tflite_ops`
reads the file and turns its operators into those of the engine. Format:
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/lite/schema/schema.fbs.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import head
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".tflite",)


def sniff(path: Path) -> bool:
    """The mark of the format at byte 4."""
    return head(path, 8)[4:] == b"TFL3"


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the model at `path`; errors as `trimtab.importers.Importer` lists them."""
    from trimtab.importers.tflite_ops import network

    return network.load(path, inputs)
