"""Parts of pages from the time model and its validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.time_model import boards, figures
from lab.time_model.boards import Errors
from lab.time_model.cards import CARDS, GOAL, THREADS, TRUSTED, CardRow
from trimtab.tables import Column, Page, Table, number

_PEERS = "time_model/peers"


@reference("Modeled times beside boards")
def modeled_boards() -> Page:
    """One row per board and number of threads."""
    runs = boards.compare()
    columns = [
        *(Column("board"), Column("core"), number("threads"), number("networks")),
        *(number("GB/s", ".1f"), number("off by"), number("worst"), Column("of")),
        *(number("one GB/s: off by"), number("worst "), number("instructions alone: off by")),
        number("worst  "),
    ]
    rows = [
        (
            *(run.board, run.core, run.threads, len(run.errors), run.gb_per_s),
            *(*_shown(run.errors), boards.worst(run.errors)[0]),
            *(*_shown(run.shared), *_shown(run.instructions_alone)),
        )
        for run in runs
    ]
    return [
        made_by("time_model/ncnn_traffic"),
        made_by("time_model/ncnn_boards"),
        "Off by is the median over the networks:",
        Table(columns, rows),
    ]


@reference("Modeled times of networks")
def modeled_networks() -> Page:
    """The modeled times of the committed networks."""
    rows = figures.TIME_MODEL.rows()
    return [made_by(figures.TIME_MODEL.name), figures.TimeModelRow.table(rows)]


@reference("Beside published times on a modeled Raspberry Pi 5")
def modeled_cards() -> Page:
    """Modeled times beside published ones, with the error of the model for a peer on that board."""
    rows, errors, verdicts = CARDS.rows(), _peer_errors(), defaultdict[str, list[str]](list)
    lines = []
    for row, line in zip(rows, CardRow.table(rows).rows, strict=True):
        error = errors.get(f"{row.network}_{row.precision}", errors.get(row.network))
        is_sure = error is not None and abs(error) <= TRUSTED
        verdict = "reached" if row.ratio <= GOAL else "not reached"
        verdicts[verdict if is_sure else "not claimed"].append(f"{row.network} ({row.ratio:.2f})")
        lines.append((*line, error))
    columns = [number(name, ".1f") for name in ("published ms", "modeled ms")]
    return [
        made_by(CARDS.name),
        f"The goal is {GOAL} of the published time; it is claimed only where the model is at most "
        f"{TRUSTED:.0%} off for a peer's time of the network on that board.",
        *(f"The goal is {name}: {listed(networks)}." for name, networks in verdicts.items()),
        "Busiest thread: its cycles by a quarter of those of one thread:",
        Table([*CardRow.table(rows).columns, number("model off by", "+.0%", absent="-")], lines),
        made_by(_PEERS),
        "Peers in the same model:",
        Table(
            [Column("engine"), Column("network"), Column("precision"), *columns],
            [
                [
                    row[key]
                    for key in ("engine", "network", "precision", "published_ms", "modeled_ms")
                ]
                for row in committed.read(_PEERS).rows
            ],
        ),
    ]


def _peer_errors() -> Mapping[str, float]:
    """The modeled time of a peer with four threads over the published one, minus 1, by network."""
    runs = (run for run in boards.compare() if (run.board, run.threads) == ("rpi5", THREADS))
    rows = committed.read(_PEERS).rows
    more = {row["network"]: row["modeled_ms"] / row["published_ms"] - 1 for row in rows}
    return {**next(runs).errors, **more}


def _shown(errors: Errors) -> tuple[str, str]:
    return f"{boards.median(errors):.0%}", f"{boards.worst(errors)[1]:+.0%}"
