"""An experiment: the dataclass of its rows gives its result file, its tables and most of its task.

    @figure_row
    class CameraRow(FigureRow):
        case: str = text("case")
        opencv_ms: float = figure("OpenCV", ".2f", digits=3)
        ours_ms: float = figure("trimtab", ".2f", digits=3)
        ratio: float = computed("ratio", ".2f", of=lambda row: row.ours_ms / row.opencv_ms)

    CAMERA = Experiment("bench.camera", "camera", CameraRow, packages=("numpy",))

A task measures rows between the two ends of a `TaskRun`, which prints, checks and writes them:

    run = TaskRun(CAMERA, options)
    with run.exclusive():
        rows = measure(options.rounds)
    run.finish(rows)
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, dataclass_transform

from lab import committed
from lab.committed import Baseline, Results
from lab.exclusive import exclusive
from lab.machine import MachineMonitor, isa
from trimtab import __version__, files, strict_json, tables
from trimtab.cli._command import changed
from trimtab.cli._options import parse_wait
from trimtab.cli._progress import shown
from trimtab.errors import UsageError
from trimtab.tables import Column, Page, Table, number

R = TypeVar("R", bound="FigureRow")

_OF_THE_OUTPUT = {"json", "check", "update", "wait", "output"}  # options that change no figure


def text(header: str, **options: Any) -> Any:
    """A field with a column of text. `options`: those of `dataclasses.field`, such as a default."""
    return field(metadata={"column": Column(header)}, **options)


def figure(
    header: str = "",
    form: str = "",
    *,
    digits: int | None = None,
    absent: str = "",
    stored: bool = True,
    **options: Any,
) -> Any:
    """A field with a column of numbers; `form` and `absent` as in `tables.number`.

    `digits`: decimal places in the result file; without a `header`, tables leave it out. `stored`:
    it is in the result file.
    """
    column = number(header, form, absent=absent) if header else None
    return field(metadata={"column": column, "digits": digits, "stored": stored}, **options)


def computed(
    header: str,
    form: str = "",
    *,
    of: Callable[[Any], Any],
    absent: str = "",
    is_text: bool = False,
    init: Literal[False] = False,
) -> Any:
    """A field that follows from the others by the function `of`; the result file leaves it out."""
    column = Column(header) if is_text else number(header, form, absent=absent)
    return field(init=init, metadata={"column": column, "of": of})


@dataclass_transform(frozen_default=True, field_specifiers=(text, figure, computed))
def figure_row(cls: type[R]) -> type[R]:
    """Makes a frozen dataclass of a subclass of `FigureRow`."""
    return dataclass(frozen=True)(cls)


class FigureRow:
    """The base of rows, whose fields are made by the functions above."""

    def __post_init__(self) -> None:
        """Sets the fields that follow from others, in their order."""
        for item in dataclasses.fields(self):  # type: ignore[arg-type]
            if compute := item.metadata.get("of"):
                object.__setattr__(self, item.name, compute(self))

    def record(self) -> dict[str, Any]:
        """The row as it is in the result file."""
        values: dict[str, Any] = {}
        for item in dataclasses.fields(self):  # type: ignore[arg-type]
            if item.init and item.metadata.get("stored", True):
                value, digits = getattr(self, item.name), item.metadata.get("digits")
                is_exact = value is None or digits is None
                values[item.name] = value if is_exact else round(value, digits)
        return values

    @classmethod
    def table(cls, rows: Iterable[FigureRow], *names: str, title: str = "") -> Table:
        """The fields of these names, by default all that have a column."""
        columns = {
            item.name: dataclasses.replace(column, key=item.name)
            for item in dataclasses.fields(cls)  # type: ignore[arg-type]
            if (column := item.metadata.get("column"))
        }
        names = names or tuple(columns)
        lines = [[getattr(row, name) for name in names] for row in rows]
        return Table([columns[name] for name in names], lines, title)


@dataclass(frozen=True)
class Experiment(Generic[R]):
    """`task`: its name; `name`: the result file, as in `committed.path_of`; `row`: the class of its
    rows; `packages`: whose versions the result file has, besides trimtab's.

    `selection`: options that choose rows. An update with one of them merges the rows into the
    committed ones if there is a `baseline`, and is refused otherwise. `is_timed`: figures depend on
    the machine, whose facts the result file then has. `stand_ins`: words that the committed command
    has in place of paths of this machine, by option.
    """

    task: str
    name: str
    row: type[R]
    packages: Sequence[str] = ()
    selection: Sequence[str] = ()
    baseline: Baseline | None = None
    is_timed: bool = False
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    def is_measured(self) -> bool:
        """Whether there is a result file."""
        return committed.path_of(self.name).exists()

    def rows(self) -> list[R]:
        """The committed rows; FileAccessError without a result file, and for other fields."""
        try:
            return [self.row(**row) for row in committed.read(self.name).rows]
        except TypeError as error:
            raise committed.unreadable(self.name, error) from error

    def results(self, rows: Iterable[R], command: str, **facts: Any) -> Results:
        """The content of the result file, with `facts` as in `Results`."""
        packages = {name: metadata.version(name) for name in self.packages}
        versions = {"trimtab": __version__, **packages, **facts.pop("versions", {})}
        records = [row.record() for row in rows]
        return Results(command=command, versions=versions, rows=records, **facts)

    def command(self, options: Any) -> str:
        """The command that repeats a measurement with these options, of all rows where a selection
        is merged.
        """
        merged = self.selection if self.baseline else ()
        words = [*[f"TRIMTAB_ISA={isa()}"] * bool(isa()), "./inv", self.task]
        for name, value in changed(options).items():
            if name in _OF_THE_OUTPUT or name in merged:
                continue
            for word in value if isinstance(value, tuple) else (value,):
                words.append(f"--{name.replace('_', '-')}")
                if word is not True:
                    words.append(self.stand_ins.get(name) or shlex.quote(str(word)))
        return " ".join([*words, "--update"])


class TaskRun(Generic[R]):
    """One call of an experiment's task. UsageError for an update that would lack rows.

    `options` has a group of `lab.options` as `results`.
    """

    def __init__(self, experiment: Experiment[R], options: Any) -> None:
        self._experiment, self._options, self._results = experiment, options, options.results
        self._is_selection = any(getattr(options, name) for name in experiment.selection)
        if self._results.update and self._is_selection and experiment.baseline is None:
            names = ", ".join(f"--{name}" for name in experiment.selection)
            raise UsageError("an update writes all rows", hint=f"leave out {names}")
        self.progress = shown(quiet=self._results.json)
        self._monitor = MachineMonitor() if experiment.is_timed else None

    def chosen(self, option: str, names: Collection[str]) -> list[str]:
        """The values of a repeatable option, all `names` by default; UsageError for an unknown
        one.
        """
        values = list(getattr(self._options, option))
        if unknown := sorted({*values} - {*names}):
            raise UsageError(
                f"unknown {option}: {', '.join(unknown)}", hint=f"use {', '.join(names)}"
            )
        return values or list(names)

    def machine(self) -> dict[str, Any]:
        """The facts of this machine since the task began, none if no figure depends on it."""
        return self._monitor.facts() if self._monitor else {}

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """A measurement during which no other one may run; see `lab.exclusive`."""
        wait_s = parse_wait(self._results.wait)
        with exclusive(self._experiment.task, wait_s, self.progress):
            yield

    def finish(
        self,
        rows: Sequence[R],
        page: Page = (),
        *,
        json: Any = None,
        output: str = "",
        machine: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Prints the `page`, by default the table, or `json`, by default the rows; then writes and
        checks the rows, as the options say. `output`: a Markdown file for the page; `machine`,
        `versions`: facts of the result file besides those of the experiment.
        """
        experiment, baseline = self._experiment, self._experiment.baseline
        records = [row.record() for row in rows]
        page = page or [experiment.row.table(rows)]
        if self._results.json:
            print(strict_json.dumps(records if json is None else json, indent=1))
        else:
            print(tables.text(page))
        if output:
            files.write_text(Path(output), tables.markdown(page) + "\n")
            self.progress.note(f"written: {output}")
        if self._results.update:
            results = experiment.results(
                rows,
                experiment.command(self._options),
                machine={**self.machine(), **(machine or {})},
                versions=versions or {},
                notes=notes,
            )
            if baseline and self._is_selection:
                results = baseline.merged(results)
            self.progress.note(f"written: {committed.write(experiment.name, results)}")
        if baseline and getattr(self._results, "check", False):
            baseline.check(records)
