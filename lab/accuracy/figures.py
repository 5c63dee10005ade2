"""Figures of the accuracy of int8 networks: rows of the result files, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from lab.committed import Results, Row
from trimtab.quantization.methods import DEFAULT
from trimtab.tables import Column, Page, Table, number

COSINES, BOXES, MIXED = "accuracy", "accuracy/boxes", "accuracy/boxes_mixed"  # result files
PEER = "onnxruntime"


@dataclass(frozen=True)
class Cosine:
    """Mean cosine of a network's int8 outputs with its float32 outputs, on test images.

    `method`: the peer, or one of our calibration methods.
    """

    network: str
    method: str
    cosine: float


@dataclass(frozen=True)
class BoxScore:
    """Boxes of a quantized detector compared with those of the float32 detector.

    `boxes`: of float32; `recall_90`, `recall_50`: the share of them matched with an intersection
    over union of at least 0.9 and 0.5; `false_positives`: unmatched boxes of the quantized detector
    at 0.9; `cycles`: modeled cycles on `target`, relative to float32.
    """

    detector: str
    method: str
    images: int
    boxes: int
    recall_90: float
    recall_50: float
    false_positives: int
    cosine: float
    target: str
    cycles: float


@dataclass(frozen=True)
class Measurement:
    """The rows for the result file `name`. `notes`: the images that were used."""

    name: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def page(self) -> Page:
        """The rows as tables."""
        return PAGES[self.name](self.rows)

    def results(self, command: str) -> Results:
        """The content of the result file."""
        import onnxruntime

        import trimtab

        versions = {"trimtab": trimtab.__version__}
        if self.name == COSINES:
            versions[PEER] = onnxruntime.__version__
        return Results(command=command, versions=versions, notes=self.notes, rows=self.rows)


def of_cosines(cosines: Iterable[Cosine]) -> Measurement:
    """The measurement of cosines."""
    return Measurement(COSINES, _rows(cosines))


def of_boxes(
    scores: Iterable[BoxScore], notes: Sequence[str], *, mixed: bool = False
) -> Measurement:
    """The measurement of boxes. `mixed`: with budgets for mixed precision."""
    return Measurement(MIXED if mixed else BOXES, _rows(scores), notes)


def _rows(figures: Iterable[Cosine | BoxScore]) -> list[dict[str, Any]]:
    return [
        {key: round(v, 6) if isinstance(v, float) else v for key, v in asdict(one).items()}
        for one in figures
    ]


def cosine_page(rows: Iterable[Row]) -> Page:
    """A summary of the methods beside the peer, and one row per network."""
    networks: dict[str, dict[str, float]] = {}
    for row in rows:
        networks.setdefault(row["network"], {})[row["method"]] = row["cosine"]
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


def boxes_page(rows: Iterable[Row]) -> Page:
    """One row per detector and method."""
    heads = ("boxes", "IoU >= 0.9", "IoU >= 0.5", "new ones", "cosine", "of the cycles of f32")
    lines = [
        (
            row["detector"],
            row["method"],
            row["boxes"],
            f"{row['recall_90']:.1%}",
            f"{row['recall_50']:.1%}",
            row["false_positives"],
            f"{row['cosine']:.5f}",
            f"{row['cycles']:.0%} {row['target']}",
        )
        for row in rows
    ]
    return [Table([Column("detector"), Column("precision"), *map(number, heads)], lines)]


PAGES = {COSINES: cosine_page, BOXES: boxes_page, MIXED: boxes_page}
