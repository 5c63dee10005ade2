"""ViT-tiny with patches of 16 pixels (Dosovitskiy et al. 2021; Touvron et al. 2021): 5.7 M
parameters, 1.07 GMAC, and 0.18 of attention.
"""

from __future__ import annotations

import numpy as np

from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)
_WIDTH, _HEADS, _BLOCKS, _TOKENS = 192, 3, 12, 197


def _heads(net: Net, x: str) -> str:
    """[1, tokens, width] -> [1, heads, tokens, width / heads]."""
    split = net.reshape(x, (1, _TOKENS, _HEADS, _WIDTH // _HEADS))
    return net.op("Transpose", [split], perm=[0, 2, 1, 3])


def _attention(net: Net, x: str) -> str:
    parts = net.split(net.tokens_linear(x, 3 * _WIDTH), (_WIDTH,) * 3, axis=2)
    query, key, value = (_heads(net, part) for part in parts)
    turned = net.op("Transpose", [key], perm=[0, 1, 3, 2])
    scores = net.op("MatMul", [net.scaled(query, (_WIDTH // _HEADS) ** -0.5), turned])
    mixed = net.op("MatMul", [net.op("Softmax", [scores], axis=-1), value])
    joined = net.reshape(
        net.op("Transpose", [mixed], perm=[0, 2, 1, 3]), (1, _TOKENS, _WIDTH), _WIDTH
    )
    return net.tokens_linear(joined, _WIDTH)


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
        x = net.add(x, _attention(net, net.layer_norm(x)))
        y = net.gelu(net.tokens_linear(net.layer_norm(x), 4 * _WIDTH))
        x = net.add(x, net.tokens_linear(y, _WIDTH))
    last = net.constant("last", np.array(_TOKENS - 1, np.int64))
    x = net.op("Gather", [net.layer_norm(x), last], axis=1)
    net.output(net.linear(x, 1000), "output")
