"""Parser of the layer of Faster R-CNN and R-FCN that is code in Python."""

import ast

import numpy as np

from trimtab import GraphBuilder, Layer, operator_parser

# Defaults of lib/fast_rcnn/config.py of py-faster-rcnn, TEST.
_CANDIDATES, _KEEP, _OVERLAP, _LEAST = 6000, 300, 0.7, 16.0


def anchors(base: int, ratios: list[float], scales: list[float]):
    """Boxes around the first cell [ratios * scales, 4] (generate_anchors.py): for each ratio, a box
    of about base^2 pixels with integer sides, at each scale, all with the same center.
    """
    center = (base - 1) / 2
    widths = [round_half_even((base * base / ratio) ** 0.5) for ratio in ratios]
    sizes = [
        (w * s, round_half_even(w * r) * s)
        for w, r in zip(widths, ratios, strict=True)
        for s in scales
    ]
    boxes = [(-(w - 1) / 2, -(h - 1) / 2, (w - 1) / 2, (h - 1) / 2) for w, h in sizes]
    return np.array(boxes, np.float32) + np.float32(center)


def round_half_even(value: float) -> float:
    """Rounds half to even, like the code of the paper."""
    return float(np.round(value))


@operator_parser(framework="caffe", origin="Python.ProposalLayer", op="proposal")
def proposal(layer: Layer, graph: GraphBuilder):
    """Reads `param_str`, YAML with one number or list per line: "'feat_stride': 16"."""
    if len(layer) != 3:
        raise layer.unsupported(f"it has {len(layer)} inputs, not scores, deltas and im_info")
    layer.text("module", "")
    layer.text("layer")
    lines = layer.text("param_str", "").splitlines()
    arguments = {}
    for name, colon, value in (line.partition(":") for line in lines if line.strip()):
        if not colon:
            raise layer.unsupported(f"its param_str has the line {name!r}")
        arguments[name.strip().strip("'\"")] = ast.literal_eval(value.strip())
    stride, scales = arguments.pop("feat_stride", 16), arguments.pop("scales", (8, 16, 32))
    if arguments:
        raise layer.unsupported(f"{', '.join(arguments)} in its param_str is unknown")
    boxes = anchors(16, [0.5, 1, 2], list(scales))
    return graph.add(
        "proposal",
        *(layer.x(i) for i in range(3)),
        graph.constant(boxes, "anchors"),
        stride=stride,
        candidates=_CANDIDATES,
        keep=_KEEP,
        threshold=_OVERLAP,
        least=_LEAST,
    )
