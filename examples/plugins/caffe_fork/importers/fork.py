"""Parsers of the fork's layers: BandBias needs an operator of the plug-in, SoftGate does not."""

from trimtab import GraphBuilder, Layer, operator_parser


@operator_parser(framework="caffe", origin="BandBias", op="band_bias")
def band_bias(layer: Layer, graph: GraphBuilder):
    """Converts nested messages to the operator's list of records."""
    biases = [
        {"offset": bias.float("offset"), "widths": bias.ints("width")}
        for bias in layer.messages("bias_struct")
    ]
    return graph.add("band_bias", layer.x(0), biases=biases)


@operator_parser(framework="caffe", origin="SoftGate", op=("mul", "sigmoid"))
def soft_gate(layer: Layer, graph: GraphBuilder):
    """Adds three operators for x * sigmoid(sharpness * x)."""
    x = layer.x(0)
    scaled = graph.add("mul", x, graph.constant(layer.float("sharpness", 1.0), "sharpness"))
    return graph.add("mul", x, graph.add("sigmoid", scaled))
