"""The fork's layers: one operator of ours, and a network of trimtab's own."""

from trimtab import GraphBuilder, Layer, operator_parser


@operator_parser(framework="caffe", origin="BandBias", op="band_bias")
def band_bias(layer: Layer, graph: GraphBuilder):
    """Repeated messages of two levels: each offset counts for all of its widths."""
    widths: list[int] = []
    offsets: list[float] = []
    for bias in layer.messages("bias_struct"):
        own = bias.ints("width")
        widths += own
        offsets += [bias.float("offset")] * len(own)
    return graph.add("band_bias", layer.x(0), widths=widths, offsets=offsets)


@operator_parser(framework="caffe", origin="SoftGate", op=("mul", "sigmoid"))
def soft_gate(layer: Layer, graph: GraphBuilder):
    """x * sigmoid(sharpness * x): three operators of one layer."""
    x = layer.x(0)
    sharper = graph.add("mul", x, graph.constant(layer.float("sharpness", 1.0), "sharpness"))
    return graph.add("mul", x, graph.add("sigmoid", sharper))
