"""A recognizer of lines of text like that of PP-OCRv3 (Li et al. 2022): 2.2 M parameters.

A MobileNet that halves rows more often than columns, two transformers over the columns (SVTR), and
a label for each of 40 steps from left to right. The head `ctc` reads the output.
"""

from __future__ import annotations

from trimtab.zoo.blocks import squeeze_excite, transformer
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 48, 320)
STEPS, LABELS = 40, 97  # labels: 95 characters, space, and blank as the first

# Kernel, output channels and strides of each depthwise-separable block.
BLOCKS = [
    (3, 32, (1, 1)),
    (3, 64, (1, 1)),
    (3, 64, (1, 1)),
    (3, 128, (2, 1)),
    (3, 128, (1, 1)),
    (3, 256, (2, 1)),
    *[(5, 256, (1, 1))] * 5,
    (5, 512, (2, 1)),
    (5, 512, (1, 2)),
]
_ACT = "hard_swish"
_GAMMA = 1.12  # scale of batch norms: hard_swish halves what is near zero, and no shortcut keeps it
_GATED = 2  # the last blocks, with squeeze and excite
_WIDTH, _HEADS, _TRANSFORMERS = 120, 8, 2


def _backbone(net: Net, x: str) -> str:
    x = net.conv_bn(x, 16, 3, 2, _ACT)
    for number, (kernel, out, strides) in enumerate(BLOCKS):
        channels = net.channels(x)
        x = net.conv_bn(x, channels, kernel, strides, _ACT, groups=channels, gamma=_GAMMA)
        if number >= len(BLOCKS) - _GATED:
            x = squeeze_excite(net, x, net.channels(x) // 4, "relu", "hard_sigmoid")
        x = net.conv_bn(x, out, act=_ACT, gamma=_GAMMA)
    return net.op("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 48, 320] -> output: float32[1, 40, 97], probabilities of labels."""
    x = _backbone(net, x)
    wide = net.channels(x)
    y = net.conv_bn(net.conv_bn(x, wide // 8, 3, act="silu"), _WIDTH, act="silu")
    y = net.op("Transpose", [net.reshape(y, (1, _WIDTH, STEPS))], perm=[0, 2, 1])
    for _ in range(_TRANSFORMERS):
        y = transformer(net, y, (1, STEPS), _HEADS, 2 * _WIDTH, "silu")
    y = net.op("Transpose", [net.layer_norm(y)], perm=[0, 2, 1])
    y = net.conv_bn(net.reshape(y, (1, _WIDTH, 1, STEPS), _WIDTH), wide, act="silu")
    y = net.conv_bn(net.concat(x, y), wide // 8, 3, act="silu")
    y = net.conv_bn(y, wide // 8, act="silu")
    steps = net.reshape(y, (1, wide // 8, STEPS))
    logits = net.tokens_linear(net.op("Transpose", [steps], perm=[0, 2, 1]), LABELS)
    net.output(net.op("Softmax", [logits], axis=2), "output")
