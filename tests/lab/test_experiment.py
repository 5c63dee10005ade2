"""Experiments: the result file, the tables and the task that follow from the rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import lab
from lab import committed
from lab.committed import Baseline, Results
from lab.experiment import Experiment, FigureRow, TaskRun, computed, figure, figure_row, text
from lab.options import CheckedOptions, OutputOptions
from trimtab import __version__
from trimtab.cli._command import group, option
from trimtab.errors import FileAccessError, RegressionError, UsageError


@figure_row
class PlantRow(FigureRow):
    plant: str = text("plant")
    leaves: int = figure("leaves", ",")
    height_m: float | None = figure("height", ".1f", digits=2, absent="-")
    roots: int = figure(default=1)
    density: float = computed("leaves per root", ".1f", of=lambda row: row.leaves / row.roots)


@dataclass(frozen=True, kw_only=True)
class PlantOptions:
    plant: tuple[str, ...] = option("only this one", ())
    days: int = option("days of growth", 7)
    garden: str = option("a folder")
    is_wet: bool = option("after rain", False)
    output: str = option("a Markdown file")
    results: OutputOptions = group(OutputOptions)


@dataclass(frozen=True, kw_only=True)
class CheckedPlantOptions:
    plant: tuple[str, ...] = option("only this one", ())
    results: CheckedOptions = group(CheckedOptions)


PLANTS = Experiment(
    *("bench.plants", "plants", PlantRow),
    selection=("plant",),
    stand_ins={"garden": "FOLDER"},
)
CHECKED = Experiment(
    *("bench.plants", "plants", PlantRow),
    selection=("plant",),
    baseline=Baseline("plants", ("plant",), ("leaves",)),
)
OAK = PlantRow("oak", 250_000, 21.3456, 5)
REED = PlantRow("reed", 12, None)


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lab, "FOLDER", tmp_path)
    return tmp_path


def test_the_result_file_has_rounded_figures_and_no_computed_ones() -> None:
    assert OAK.record() == {"plant": "oak", "leaves": 250_000, "height_m": 21.35, "roots": 5}
    assert REED.record() == {"plant": "reed", "leaves": 12, "height_m": None, "roots": 1}


def test_tables_have_the_fields_with_a_column_or_those_that_are_named() -> None:
    whole = PlantRow.table([OAK, REED])
    assert [column.header for column in whole.columns] == [
        *("plant", "leaves", "height", "leaves per root")
    ]
    assert whole.text().splitlines()[-1].split() == ["reed", "12", "-", "12.0"]
    some = PlantRow.table([OAK], "density", "plant", title="Plants")
    assert some.records() == [{"density": 50_000.0, "plant": "oak"}]
    assert some.title == "Plants"


def test_an_update_writes_rows_that_are_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert not PLANTS.is_measured()
    options = PlantOptions(garden="/home/me/garden", results=OutputOptions(update=True))
    TaskRun(PLANTS, options).finish([OAK, REED], versions={"spade": "1"}, notes=["dry"])
    results = committed.read("plants")
    assert results.command == "./inv bench.plants --garden FOLDER --update"
    assert results.versions == {"trimtab": __version__, "spade": "1"}
    assert (results.notes, results.machine) == (["dry"], {})
    assert PLANTS.is_measured()
    assert PLANTS.rows() == [PlantRow("oak", 250_000, 21.35, 5), REED]
    assert "250,000" in capsys.readouterr().out


def test_a_result_file_of_other_fields_cannot_be_read() -> None:
    committed.write("plants", Results(command="", versions={}, rows=[{"plant": "oak"}]))
    with pytest.raises(FileAccessError, match=r"cannot be read: .*'leaves'"):
        PLANTS.rows()


def test_a_machine_is_described_where_figures_depend_on_it() -> None:
    timed = Experiment("bench.plants", "plants", PlantRow, is_timed=True)
    TaskRun(timed, PlantOptions(results=OutputOptions(update=True))).finish([OAK])
    assert committed.read("plants").machine["cores"] >= 1


def test_the_command_repeats_the_options_that_change_figures() -> None:
    options = PlantOptions(
        plant=("oak", "a reed"),
        days=9,
        is_wet=True,
        output="x.md",
        results=OutputOptions(json=True),
    )
    assert PLANTS.command(options) == (
        "./inv bench.plants --plant oak --plant 'a reed' --days 9 --is-wet --update"
    )


def test_json_is_the_rows_or_more(capsys: pytest.CaptureFixture[str]) -> None:
    run = TaskRun(PLANTS, PlantOptions(results=OutputOptions(json=True)))
    run.finish([OAK])
    assert json.loads(capsys.readouterr().out) == [OAK.record()]
    run.finish([OAK], json={"rows": 1})
    assert json.loads(capsys.readouterr().out) == {"rows": 1}


def test_the_page_is_also_written_as_markdown(checkout: Path) -> None:
    path = checkout / "plants.md"
    TaskRun(PLANTS, PlantOptions()).finish([OAK], output=str(path))
    assert "| oak " in path.read_text()
    assert not PLANTS.is_measured()


def test_an_update_of_a_selection_is_refused_without_a_baseline() -> None:
    options = PlantOptions(plant=("oak",), results=OutputOptions(update=True))
    with pytest.raises(UsageError, match="an update writes all rows") as refused:
        TaskRun(PLANTS, options)
    assert "--plant" in refused.value.hint


def test_an_update_of_a_selection_is_merged_with_a_baseline() -> None:
    update = CheckedOptions(update=True)
    TaskRun(CHECKED, CheckedPlantOptions(results=update)).finish([OAK, REED])
    more = PlantRow("reed", 13, 2.0)
    TaskRun(CHECKED, CheckedPlantOptions(plant=("reed",), results=update)).finish([more])
    assert [row.leaves for row in CHECKED.rows()] == [250_000, 13]


def test_a_check_refuses_what_is_worse_than_the_committed_rows() -> None:
    TaskRun(CHECKED, CheckedPlantOptions(results=CheckedOptions(update=True))).finish([REED])
    run = TaskRun(CHECKED, CheckedPlantOptions(results=CheckedOptions(check=True)))
    run.finish([REED])
    with pytest.raises(RegressionError, match="reed leaves: 12 to 14"):
        run.finish([PlantRow("reed", 14, 2.0)])


def test_values_of_an_option_are_those_of_a_list() -> None:
    names = ("oak", "reed")
    assert TaskRun(PLANTS, PlantOptions()).chosen("plant", names) == ["oak", "reed"]
    assert TaskRun(PLANTS, PlantOptions(plant=("reed",))).chosen("plant", names) == ["reed"]
    with pytest.raises(UsageError, match="unknown plant: elm"):
        TaskRun(PLANTS, PlantOptions(plant=("elm",))).chosen("plant", names)
