"""How near int8 networks are to their float32 twins: what was measured, as rows and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from lab.committed import Results, Row
from trimtab.quantization.methods import DEFAULT
from trimtab.tables import Column, Page, Table, number

COSINES, BOXES, MIXED = "accuracy", "accuracy/boxes", "accuracy/boxes_mixed"  # what is committed
PEER = "onnxruntime"


@dataclass(frozen=True)
class Cosine:
    """Of the outputs of a `network` in int8 with those in float32, on pictures that ranges were not
    taken of, the mean; `way`: the peer, or a method of ours.
    """

    network: str
    way: str
    cosine: float


@dataclass(frozen=True)
class Found:
    """What a `detector` finds again in a way of ours: `boxes` of the float32 network, the shares of
    them that are `found`, closely and at all, boxes that are `new`, and the share of float32's
    modeled cycles that it takes on `target`.
    """

    detector: str
    way: str
    pictures: int
    boxes: int
    found: float
    found_roughly: float
    new: int
    cosine: float
    target: str
    cycles: float


@dataclass(frozen=True)
class Measured:
    """All of one run, for the committed results `name`; `notes`: what pictures these were."""

    name: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def page(self) -> Page:
        """What was found, as tables."""
        return PAGES[self.name](self.rows)

    def results(self, command: str) -> Results:
        """What is committed to."""
        import onnxruntime

        import trimtab

        versions = {"trimtab": trimtab.__version__}
        if self.name == COSINES:
            versions[PEER] = onnxruntime.__version__
        return Results(command=command, versions=versions, notes=self.notes, rows=self.rows)


def of_cosines(found: Iterable[Cosine]) -> Measured:
    """Those of one run."""
    return Measured(COSINES, _rows(found))


def of_boxes(found: Iterable[Found], notes: Sequence[str], *, mixed: bool = False) -> Measured:
    """Those of one run; `mixed`: with a budget for mixed precision."""
    return Measured(MIXED if mixed else BOXES, _rows(found), notes)


def _rows(found: Iterable[Cosine | Found]) -> list[dict[str, Any]]:
    return [
        {key: round(v, 6) if isinstance(v, float) else v for key, v in asdict(one).items()}
        for one in found
    ]


def cosine_page(rows: Iterable[Row]) -> Page:
    """How the methods stand beside the peer, in words; and a line per network."""
    networks: dict[str, dict[str, float]] = {}
    for row in rows:
        networks.setdefault(row["network"], {})[row["way"]] = row["cosine"]
    ways = list(dict.fromkeys(way for found in networks.values() for way in found))
    lines = [
        (name, *(f"{found[way]:.5f}" if way in found else "" for way in ways))
        for name, found in networks.items()
    ]
    return [verdict(networks), Table([Column("network"), *map(number, ways)], lines)]


def verdict(networks: Mapping[str, Mapping[str, float]]) -> str:
    """By each of our methods: how many networks are as near to float32 as by the peer's, and how
    much of the peer's distance (1 - cosine) is left, the median.
    """
    said = []
    for way in dict.fromkeys(w for found in networks.values() for w in found if w != PEER):
        pairs = {n: (f[way], f[PEER]) for n, f in networks.items() if way in f}
        behind = [n for n, (ours, theirs) in pairs.items() if ours < theirs]
        left = median((1 - ours) / max(1 - theirs, 1e-12) for ours, theirs in pairs.values())
        named = f"`{way}`" + " (the default)" * (way == DEFAULT)
        words = f"{named}: {len(pairs) - len(behind)} of {len(pairs)}, {left:.2f}"
        said.append(words + f" (not {', '.join(behind)})" * bool(behind))
    return (
        f"Networks that are at least as near to float32 as by {PEER}'s static quantizer, and what "
        f"is left of its distance, 1 - cosine, in the median: {'; '.join(said)}."
    )


def boxes_page(rows: Iterable[Row]) -> Page:
    """A line per detector and way."""
    heads = ("boxes", "IoU >= 0.9", "IoU >= 0.5", "new ones", "cosine", "of the cycles of f32")
    lines = [
        (
            row["detector"],
            row["way"],
            row["boxes"],
            f"{row['found']:.1%}",
            f"{row['found_roughly']:.1%}",
            row["new"],
            f"{row['cosine']:.5f}",
            f"{row['cycles']:.0%} {row['target']}",
        )
        for row in rows
    ]
    return [Table([Column("detector"), Column("precision"), *map(number, heads)], lines)]


PAGES = {COSINES: cosine_page, BOXES: boxes_page, MIXED: boxes_page}
