"""ViT-tiny with patches of 16 pixels (Dosovitskiy et al. 2021; Touvron et al. 2021): 5.7 M
parameters, 1.07 GMAC, and 0.18 of attention.
"""

from __future__ import annotations

import numpy as np

from trimtab.zoo.blocks import transformer
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)
_WIDTH, _HEADS, _BLOCKS, _TOKENS = 192, 3, 12, 197


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.conv(x, _WIDTH, 16, 16, pad=0)
    x = net.op("Transpose", [net.reshape(x, (1, _WIDTH, _TOKENS - 1))], perm=[0, 2, 1])
    rng = np.random.default_rng(2)
    first, places = (
        net.constant(f"{name}.weight", rng.normal(0, 0.02, (1, n, _WIDTH)).astype(np.float32))
        for name, n in (("class_token", 1), ("positions", _TOKENS))
    )
    x = net.op("Add", [net.op("Concat", [x, first], _WIDTH, axis=1), places])
    for _ in range(_BLOCKS):
        x = transformer(net, x, (1, _TOKENS), _HEADS, 4 * _WIDTH, "gelu")
    last = net.constant("last", np.array(_TOKENS - 1, np.int64))
    x = net.op("Gather", [net.layer_norm(x), last], axis=1)
    net.output(net.linear(x, 1000), "output")
