"""Depthwise convolutions between 1x1 convolutions, on images beyond a small core's L2 cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tests.ops.cases.case import Case, Const, Graph, normal

FUSED = ("expand_depthwise", "depthwise_project", "expand_depthwise_project")


@dataclass(frozen=True)
class Chain:
    """1x1, depthwise, 1x1; `kind` names the fused ones."""

    kind: str
    n: int = 1
    c: int = 5
    middle: int = 37
    out: int = 11
    height: int = 19
    width: int = 13
    kernel: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    activation: str = "Relu"
    residual: bool = False
    block: int = 3
    id: str = "chain"

    def case(self) -> Case:
        """The network: operators that are not fused surround the fused ones."""
        g = Graph()
        x = g.value(normal(self.n, self.c, self.height, self.width))
        y = self._conv(g, self._conv(g, x, self.c, self.c, 3), self.c, self.middle)
        y = start = self._act(g, y)
        y = g.node(
            "Conv",
            y,
            Const(normal(self.middle, 1, *self.kernel)),
            Const(normal(self.middle, seed="bias")),
            group=self.middle,
            kernel_shape=self.kernel,
            strides=self.strides,
            dilations=self.dilations,
            pads=self.pads,
        )
        y = self._act(g, y)
        if self.kind != "expand_depthwise":
            y = self._conv(g, y, self.middle, self.middle if self.residual else self.out)
            y = g.node("Add", y, start) if self.residual else self._act(g, y)
        return g.case(self.id, y, atol=2e-5)

    def _act(self, g: Graph, x: str) -> str:
        return g.node(self.activation, x) if self.activation else x

    @staticmethod
    def _conv(g: Graph, x: str, c_in: int, c_out: int, kernel: int = 1) -> str:
        w = normal(c_out, c_in, kernel, kernel) / np.float32(c_in**0.5 * kernel)
        return g.node("Conv", x, Const(w), Const(normal(c_out)), pads=[kernel // 2] * 4)


def cases() -> Iterator[Case]:
    """Each chain with another kernel, other strides and another activation."""
    large = Chain(FUSED[2], middle=67, height=75, width=61)
    yield replace(
        large, kernel=(5, 5), strides=(2, 2), pads=(2, 2, 2, 2), activation="HardSwish", id="5x5-2"
    ).case()
    yield replace(large, n=2, height=46, id="images").case()
    yield replace(large, kernel=(7, 3), pads=(3, 1, 3, 1), id="7x3").case()
    yield replace(large, kind=FUSED[0], strides=(2, 1), id="expand").case()
    yield replace(large, residual=True, middle=64, id="residual").case()
    yield replace(large, kind=FUSED[1], strides=(2, 2), activation="Sigmoid", id="project").case()
