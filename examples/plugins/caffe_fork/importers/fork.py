"""The fork's layers: one operator of ours, and a network of trimtab's own."""

from trimtab import GraphBuilder, Layer, operator_parser


@operator_parser(framework="caffe", origin="BandBias", op="band_bias")
def band_bias(layer: Layer, graph: GraphBuilder):
    """Messages of two levels, kept as the operator's list of records."""
    biases = [
        {"offset": bias.float("offset"), "widths": bias.ints("width")}
        for bias in layer.messages("bias_struct")
    ]
    return graph.add("band_bias", layer.x(0), biases=biases)


@operator_parser(framework="caffe", origin="SoftGate", op=("mul", "sigmoid"))
def soft_gate(layer: Layer, graph: GraphBuilder):
    """x * sigmoid(sharpness * x): three operators of one layer."""
    x = layer.x(0)
    sharper = graph.add("mul", x, graph.constant(layer.float("sharpness", 1.0), "sharpness"))
    return graph.add("mul", x, graph.add("sigmoid", sharper))
