"""Cards of networks on boards, against numpy and the records themselves."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.fakes import write_record
from tests.hostile_text import ALL, check_displayed, check_html, check_json, check_markdown
from tests.test_accuracy import SEARCH
from trimtab.errors import UsageError
from trimtab.pipeline.card import CardEntry
from trimtab.reports import card
from trimtab.reports.card import Card
from trimtab.results import records, summary
from trimtab.results.energy import SourceEnergy
from trimtab.results.records import Status
from trimtab.results.statistics import MIN_FOR_P99

SAMPLES = [100_000 + 37 * i for i in range(400)]


def entry(directory: Path, precision: str = "f32", **options: Any) -> CardEntry:
    run = summary.summarize(records.read(write_record(directory, **options)))
    if precision != "f32":
        run = dataclasses.replace(run, accuracy=SEARCH.candidates[1].accuracy)
    return CardEntry("net", run.header.device.name, precision, run)


def loaded(entries: list[CardEntry]) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = json.loads(card.render(Card(entries), "json"))["entries"]
    return facts


def rows(text: str) -> dict[str, list[str]]:
    """The cells of the first Markdown table by precision and network."""
    table = text.split("\n\n")[2]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {f"{row[0]} {row[1]} {row[2]}": row[3:] for row in cells}


def test_a_card_has_the_percentiles_of_all_inferences(tmp_path: Path) -> None:
    (facts,) = loaded([entry(tmp_path, samples=SAMPLES)])
    assert facts["p50_ns"] == np.median(SAMPLES)
    assert facts["p90_ns"] == np.percentile(SAMPLES, 90)
    assert facts["p99_ns"] == np.percentile(SAMPLES, 99)
    assert facts["shipped_bytes"] == 1005
    assert facts["first_ns"] == 120_000
    assert facts["load_ns"] == 5000
    assert facts["peak_bytes"] == 999_424


def test_few_inferences_have_no_p99(tmp_path: Path) -> None:
    """With 298 samples the largest is below p99 in 5 % of all cases: 0.99^298 > 0.05."""
    assert 0.99**MIN_FOR_P99 < 0.05 < 0.99 ** (MIN_FOR_P99 - 1)
    enough = entry(tmp_path, samples=SAMPLES[:MIN_FOR_P99])
    few = entry(tmp_path, samples=SAMPLES[: MIN_FOR_P99 - 1])
    texts = [card.render(Card([one]), "markdown") for one in (enough, few)]
    p99 = [rows(text)["net pi4 f32"][3] for text in texts]
    assert re.fullmatch(r"\d+\.?\d* µs", p99[0])
    assert p99[1] == "-"
    assert ["p99 needs 299" in text for text in texts] == [False, True]


def test_cards_of_several_networks_and_boards_are_one_table(tmp_path: Path) -> None:
    entries = [
        entry(tmp_path, samples=SAMPLES),
        entry(tmp_path, "int8", samples=[ns // 2 for ns in SAMPLES]),
        dataclasses.replace(entry(tmp_path, is_emulated=True, instructions=77), network="other"),
    ]
    text = card.render(Card(entries), "markdown")
    table = rows(text)
    assert list(table) == ["net pi4 f32", "net pi4 int8", "other qemu-a53 f32"]
    builds = text.split("\n\n")[4].splitlines()
    assert [cell.strip() for cell in builds[0].split("|")[3:-1]] == [
        *("precision", "weights", "prefer", "accuracy", "cpu", "threads"),
    ]
    assert [cell.strip() for cell in builds[3].split("|")[1:4]] == ["net", "pi4", "int8"]
    assert table["net pi4 int8"][1] == "53.69 µs"
    assert "cosine" in text
    assert "it is float32" in text


def test_what_is_emulated_or_rough_says_so(tmp_path: Path) -> None:
    emulated = entry(tmp_path, is_emulated=True, instructions=123_456)
    text = card.render(Card([emulated]), "terminal")
    assert "123,456 instr." in text
    assert "emulated" in text
    assert not re.search(r"\d (ns|µs|ms|s)\b", text)
    (facts,) = loaded([emulated])
    assert facts["is_emulated"]
    assert facts["p50_ns"] is None
    assert facts["instructions"] == 123_456
    rough = entry(tmp_path, "int8", samples=SAMPLES)
    assert rough.run
    assert rough.run.accuracy
    seeded = dataclasses.replace(rough.run.accuracy, is_seeded=True)
    rough = dataclasses.replace(rough, run=dataclasses.replace(rough.run, accuracy=seeded))
    assert "seeded noise says little" in card.render(Card([rough]), "html")


def test_a_precision_that_was_not_measured_says_why(tmp_path: Path) -> None:
    entries = [
        entry(tmp_path, samples=SAMPLES),
        CardEntry("net", "pi4", "int8", None, "samples are missing"),
        dataclasses.replace(entry(tmp_path, status=Status.CRASHED), precision="f16"),
    ]
    for form in ("terminal", "markdown", "html"):
        text = card.render(Card(entries), form)
        assert "not measured: samples are missing" in text
        assert "not measured: CRASHED: the board went up in smoke" in text
    facts = loaded(entries)
    assert [one["is_measured"] for one in facts] == [True, False, False]
    assert facts[1]["reason"] == "samples are missing"


def test_an_inaccurate_run_has_its_figures_and_is_marked(tmp_path: Path) -> None:
    one = entry(tmp_path, "f16", samples=SAMPLES, status=Status.INACCURATE)
    text = card.render(Card([one]), "markdown")
    assert rows(text)["net pi4 f16"][1] == "107.4 µs"
    assert "INACCURATE: the board went up in smoke" in text
    (facts,) = loaded([one])
    assert facts["status"] == "INACCURATE"


def test_joules_are_those_of_each_source(tmp_path: Path) -> None:
    one = entry(tmp_path, samples=SAMPLES)
    assert one.run
    energy = (
        SourceEnergy("rail", 0.0123, None, 3.0, None, ""),
        SourceEnergy("battery", None, None, None, None, "it charges"),
    )
    one = dataclasses.replace(one, run=dataclasses.replace(one.run, energy=energy))
    assert "12.3 mJ (rail)" in card.render(Card([one]), "markdown")
    (facts,) = loaded([one])
    assert facts["joules"] == {"rail": 0.0123, "battery": None}


def test_a_card_shows_hostile_names_as_text(tmp_path: Path) -> None:
    hostile = dataclasses.replace(entry(tmp_path, "int8", samples=SAMPLES), network=ALL, device=ALL)
    refused = CardEntry(ALL, ALL, ALL, None, ALL)
    readers: dict[str, Callable[[str], object]] = {
        "html": lambda text: check_html(text).names,
        "markdown": lambda text: check_markdown(text).names,
        "json": lambda text: len(check_json(text)),
        "terminal": lambda text: None,
    }
    harmless = [
        dataclasses.replace(hostile, network="net", device="pi4"),
        CardEntry("net", "pi4", "f16", None, "no"),
    ]
    for form, reader in readers.items():
        text = card.render(Card([hostile, refused]), form)
        check_displayed(text)
        assert reader(text) == reader(card.render(Card(harmless), form))


def test_an_unknown_form_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown form 'pdf'") as refused:
        card.check_form("pdf")
    assert refused.value.hint == "one of: terminal, markdown, html, json"
