"""Caffe's layer SoftThreshold, with the scales of its channels as an optional blob."""

from trimtab import GraphBuilder, Layer, operator_parser


@operator_parser(framework="caffe", origin="SoftThreshold", op="soft_threshold")
def parse(layer: Layer, graph: GraphBuilder):
    return graph.add("soft_threshold", layer.x(0), threshold=layer.float("threshold"))
