"""The operators of each format's own list, and the reasons for those that are not supported."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import tflite

from trimtab.importers.caffe_ops.layer import HANDLERS as CAFFE
from trimtab.importers.darknet_ops.layer import HANDLERS as DARKNET
from trimtab.importers.ncnn_ops.layer import HANDLERS as NCNN
from trimtab.importers.onnx_ops.node import HANDLERS as ONNX
from trimtab.importers.tflite_ops.node import HANDLERS as TFLITE

LISTS = Path(__file__).with_name("operators.toml")

# Computed during the import, from constants and known shapes, or replaced by their bodies.
_FOLDED = {"Constant", "ConstantOfShape", "Shape", "Size", "If", "Loop", "Scan"}


# Data layers become inputs; losses, evaluations and the like are left out, or are for training.
_LEFT_OUT = {
    "caffe": (
        *("Data", "HDF5Data", "ImageData", "Input", "MemoryData", "WindowData", "Silence"),
        *("Accuracy", "HDF5Output", "MultiBoxLoss", "SoftmaxWithLoss"),
        *("EuclideanLoss", "HingeLoss", "SigmoidCrossEntropyLoss"),
    ),
    "darknet": ("contrastive", "cost"),
}


@dataclass(frozen=True)
class OperatorList:
    """A format's own list. `reasons`: of those that are not supported."""

    title: str
    source: str
    names: Sequence[str]
    supported: frozenset[str]
    reasons: dict[str, str]

    def refused(self) -> dict[str, str]:
        """The reason of each operator that is not supported."""
        return {name: self.reasons[name] for name in self.names if name not in self.supported}

    def unexplained(self) -> list[str]:
        """The operators that are not supported and have no reason."""
        return [n for n in self.names if n not in self.supported and n not in self.reasons]

    def outdated(self) -> list[str]:
        """The operators that have a reason, and are supported or not in the list."""
        return [n for n in self.reasons if n in self.supported or n not in self.names]


def all_lists() -> list[OperatorList]:
    """The lists of all formats that have one."""
    return [make() for make in (_onnx, _tflite, _ncnn, _caffe, _darknet)]


def _reasons(format: str) -> dict[str, str]:
    """The reasons by operator, from operators.toml."""
    listed = tomllib.loads(LISTS.read_text(encoding="utf-8"))[format]["refused"]
    return {name: reason for reason, names in listed.items() for name in names.split()}


def _listed(format: str) -> list[str]:
    """The names of a format without a list in a package, from operators.toml."""
    return str(tomllib.loads(LISTS.read_text(encoding="utf-8"))[format]["names"]).split()


def _onnx() -> OperatorList:
    schemas: list[Any] = [
        s for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated
    ]
    defined = {s.name for s in schemas if s.has_function or s.has_context_dependent_function}
    names = (schema.name for schema in schemas)
    return _list(
        "ONNX", f"operators of onnx {onnx.__version__}", names, {*ONNX, *_FOLDED, *defined}
    )


def _tflite() -> OperatorList:
    names = [n for n in vars(tflite.BuiltinOperator) if n.isupper() and n[0] != "_"]
    stable = [n for n in names if not n.startswith(("STABLEHLO", "PLACEHOLDER", "CUSTOM"))]
    return _list("TFLite", "builtin operators of TFLite's schema", stable, TFLITE)


def _ncnn() -> OperatorList:
    return _list("ncnn", "layers of ncnn", _listed("ncnn"), {*NCNN, "Input"})


def _caffe() -> OperatorList:
    return _list(
        "Caffe",
        "layers of BVLC's list, SSD and py-faster-rcnn",
        _listed("caffe"),
        {*CAFFE, *_LEFT_OUT["caffe"]},
    )


def _darknet() -> OperatorList:
    return _list(
        "Darknet",
        "sections of both Darknets",
        _listed("darknet"),
        {*DARKNET, *_LEFT_OUT["darknet"]},
    )


def _list(title: str, source: str, names: Iterable[str], supported: Iterable[str]) -> OperatorList:
    reasons = _reasons(title.lower())
    return OperatorList(title, source, sorted(names), frozenset(supported), reasons)
