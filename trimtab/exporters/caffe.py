"""Writes Caffe networks: a .prototxt (text) with its .caffemodel (weights).

Layers are those of caffe.proto, with ReLU6, Permute, Interp, ShuffleChannel, Mish and Swish of its
forks and `ceil_mode` of pools where a network needs them; OpenCV reads all of these. What Caffe has
no layer for is composed: asymmetric padding by taps of 0, repeated pixels by a Deconvolution.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.exporters.caffe_ops.graph import CaffeGraph, CaffeOp
from trimtab.program import Program

__all__ = ["SUFFIXES", "encode"]

SUFFIXES = (".prototxt", ".caffemodel")


def encode(program: Program) -> Mapping[str, bytes]:
    """Both files. ExportModelError if Caffe cannot express an operator."""
    graph = CaffeGraph(program)
    graph.build(CaffeOp)
    return {".prototxt": graph.text().encode(), ".caffemodel": graph.weights()}
