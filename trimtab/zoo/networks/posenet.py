"""A pose estimator like PoseNet (Papandreou et al. 2018; Oved 2018) on MobileNet v1: 3.3 M
parameters.

Many persons with 17 keypoints; the head `posenet` reads one, and `posenet_multi` several.
"""

from __future__ import annotations

from trimtab.zoo.builder import Net
from trimtab.zoo.networks import mobilenet_v1

INPUT_SHAPE = (1, 3, 257, 257)
_POINTS, _EDGES = 17, 16  # keypoints of a person, and edges of the tree between them


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 257, 257] -> heatmaps: float32[1, 17, 9, 9], probabilities of keypoints;
    offsets: float32[1, 34, 9, 9], from a place of the map to the keypoint; forward, backward:
    float32[1, 32, 9, 9], from a keypoint to the next one along each edge. All y before x, in
    pixels.
    """
    x = mobilenet_v1.features(net, x, "relu6")
    net.output(net.act(net.conv(x, _POINTS), "sigmoid"), "heatmaps")
    net.output(net.conv(x, 2 * _POINTS), "offsets")
    net.output(net.conv(x, 2 * _EDGES), "forward")
    net.output(net.conv(x, 2 * _EDGES), "backward")
