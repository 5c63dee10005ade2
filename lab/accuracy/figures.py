"""Figures of the accuracy of int8 networks: rows of the result files, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab.quantization.methods import DEFAULT
from trimtab.tables import Column, Page, Table, number

PEER = "onnxruntime"


@figure_row
class CosineRow(FigureRow):
    """Mean cosine of a network's int8 outputs with its float32 outputs, on test images.

    `method`: the peer, or one of our calibration methods.
    """

    network: str = text("network")
    method: str = text("method")
    cosine: float = figure("cosine", ".5f", digits=6)


@figure_row
class BoxScoreRow(FigureRow):
    """Boxes of a quantized detector compared with those of the float32 detector.

    `boxes`: of float32; `recall_90`, `recall_50`: the share of them matched with an intersection
    over union of at least 0.9 and 0.5; `false_positives`: unmatched boxes of the quantized detector
    at 0.9; `cycles`: modeled cycles on `target`, relative to float32.
    """

    detector: str = text("detector")
    method: str = text("precision")
    images: int = figure()
    boxes: int = figure("boxes")
    recall_90: float = figure("IoU >= 0.9", ".1%", digits=6)
    recall_50: float = figure("IoU >= 0.5", ".1%", digits=6)
    false_positives: int = figure("new ones")
    cosine: float = figure("cosine", ".5f", digits=6)
    target: str = figure()
    cycles: float = figure(digits=6)
    cost: str = computed("of the cycles of f32", of=lambda row: f"{row.cycles:.0%} {row.target}")


_FILES = {"detectors": "FILE.toml", "photographs": "FOLDER"}
COSINES = Experiment("bench.accuracy", "accuracy", CosineRow, packages=(PEER,))
BOXES = Experiment("bench.accuracy", "accuracy/boxes", BoxScoreRow, stand_ins=_FILES)
MIXED = Experiment("bench.accuracy", "accuracy/boxes_mixed", BoxScoreRow, stand_ins=_FILES)


def cosine_page(rows: Iterable[CosineRow]) -> Page:
    """A summary of the methods beside the peer, and one row per network."""
    networks: dict[str, dict[str, float]] = {}
    for row in rows:
        networks.setdefault(row.network, {})[row.method] = row.cosine
    methods = list(dict.fromkeys(method for cosines in networks.values() for method in cosines))
    lines = [
        (name, *(f"{cosines[method]:.5f}" if method in cosines else "" for method in methods))
        for name, cosines in networks.items()
    ]
    return [summary(networks), Table([Column("network"), *map(number, methods)], lines)]


def summary(networks: Mapping[str, Mapping[str, float]]) -> str:
    """For each of our methods: the networks at least as close to float32 as the peer's, and the
    median ratio of the distances 1 - cosine.
    """
    parts = []
    for method in dict.fromkeys(m for cosines in networks.values() for m in cosines if m != PEER):
        pairs = {n: (c[method], c[PEER]) for n, c in networks.items() if method in c}
        behind = [n for n, (ours, theirs) in pairs.items() if ours < theirs]
        ratio = median((1 - ours) / max(1 - theirs, 1e-12) for ours, theirs in pairs.values())
        name = f"`{method}`" + " (the default)" * (method == DEFAULT)
        part = f"{name}: {len(pairs) - len(behind)} of {len(pairs)}, {ratio:.2f}"
        parts.append(part + f" (not {', '.join(behind)})" * bool(behind))
    return (
        f"Networks that are at least as close to float32 as with {PEER}'s static quantizer, and "
        f"the median ratio of the distances 1 - cosine: {'; '.join(parts)}."
    )
