"""Parser of a Caffe layer SoftThreshold."""

from trimtab import GraphBuilder, Layer, operator_parser


@operator_parser(framework="caffe", origin="SoftThreshold", op="soft_threshold")
def parse(layer: Layer, graph: GraphBuilder):
    return graph.add("soft_threshold", layer.x(0), threshold=layer.float("threshold"))
