"""The files beside an ONNX model with data of its tensors, found without the package `onnx`."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from trimtab.importers._wire import BYTES, IrregularError, fields, mapped

# The messages of onnx.proto that lead to a tensor: by field number, the message in the field.
_MESSAGES = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "tensor": {13: "entry"},
}
_KEY, _VALUE = 1, 2  # fields of an entry of `external_data`
_LOCATION = b"location"
_SMALL_BYTES = 4096  # a message of this size is searched for the word before it is read
_MAX_DEPTH = 200  # the library reads less


def files(path: Path) -> list[Path]:
    """The existing files with external data that the model at `path` names, each once.

    They lie in its folder or below: the importer refuses all others.
    """
    names: dict[str, None] = {}
    try:
        with path.open("rb") as file, mapped(file) as content:
            for location in _locations(content, "model", 0, len(content), 0):
                names[os.path.normpath(location)] = None
    except IrregularError:
        pass  # the importer reports it
    inside = [name for name in names if not Path(name).is_absolute() and name[:2] != ".."]
    # Unlike Path, os.path takes any text for a name.
    return [path.parent / name for name in inside if os.path.isfile(path.parent / name)]  # noqa: PTH113


def _locations(content: mmap.mmap, message: str, start: int, end: int, depth: int) -> Iterator[str]:
    """The locations of external data in a message."""
    if depth > _MAX_DEPTH:
        raise IrregularError
    inner = _MESSAGES[message]
    for field in fields(content, start, end):
        kind = inner.get(field.id)
        if kind is None or field.wire_type != BYTES:
            continue
        is_small = field.end - field.content < _SMALL_BYTES
        if is_small and content.find(_LOCATION, field.content, field.end) < 0:
            continue
        if kind == "entry":
            entry = {one.id: one for one in fields(content, field.content, field.end)}
            if (
                _KEY in entry
                and _VALUE in entry
                and _text(content, *entry[_KEY][3:5]) == "location"
            ):
                yield _text(content, *entry[_VALUE][3:5])
        else:
            yield from _locations(content, kind, field.content, field.end, depth + 1)


def _text(content: mmap.mmap, start: int, end: int) -> str:
    return content[start:end].decode("utf-8", errors="replace")
