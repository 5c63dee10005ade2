"""The file of a sweep: which configurations there are, and how each is measured.

A `[matrix]` is the product of its axes, several `[[matrix]]` are the union of theirs, less what an
`[[exclude]]` matches. A cell is one configuration on one device.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from trimtab.bench.jobs import MAX_THREADS, Settings
from trimtab.devices.control import Control
from trimtab.errors import UsageError

Table = dict[str, Any]

MOST_CELLS = 10_000  # somebody's mistake, and not somebody's sweep


@dataclass(frozen=True)
class Cell:
    """One configuration on one device; "" takes the default, as in the options of `bench`, whose
    names these are. `plan` and `calibration` are paths; so is `model`, unless it is of the zoo.
    """

    model: str
    profile: str = ""
    precision: str = ""
    toolchain: str = ""
    cpu: str = ""
    threads: int = 1
    plan: str = ""
    prefer: str = ""
    weights: str = ""
    calibration: str = ""
    budget: str = ""
    device: str = "local"

    @property
    def configuration(self) -> dict[str, str | int]:
        """What tells this cell from others, for records and tables: files by their names alone, so
        that it is the same on every machine.
        """
        values = dataclasses.asdict(self)
        for axis in FILES:
            values[axis] = Path(values[axis]).name
        return {axis: value for axis, value in values.items() if value != ""}

    @property
    def binary(self) -> Cell:
        """The cell without its device: cells of one binary and model share a build."""
        return dataclasses.replace(self, device="")

    def __str__(self) -> str:
        values = self.configuration
        values.pop("threads" if self.threads == 1 else "", None)
        return " ".join(
            f"{value} threads" if axis == "threads" else str(value)
            for axis, value in values.items()
        )


AXES = tuple(f.name for f in fields(Cell))
FILES = ("model", "plan", "calibration")


@dataclass(frozen=True)
class Protocol:
    """How every cell is measured. `settings` are those of `bench` without threads, which are the
    cell's; cells that differ in the axes of `compare` alone are measured in turns.
    """

    settings: Settings = field(default_factory=Settings)
    compare: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What a cell's key holds of it: not how long somebody waits for a device."""
        values = dataclasses.asdict(self.settings)
        del values["threads"], values["control"]["wait_s"]
        return {**values, "compare": list(self.compare)}


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file says; `name` is the file's."""

    name: str
    doc: str
    cells: tuple[Cell, ...]
    protocol: Protocol

    def key(self, cell: Cell, binary_sha256: str, model_sha256: str) -> str:
        """Names a measurement, in hex: of this binary and this model, on this device, in this
        configuration, by this protocol.
        """
        return _digest(
            {
                "binary": binary_sha256,
                "model": model_sha256,
                "configuration": cell.configuration,
                "protocol": self.protocol.to_json(),
            }
        )

    def series(self, cell: Cell) -> str:
        """Names what stays the same when the sources change: the key without the hashes."""
        values = {"configuration": cell.configuration, "protocol": self.protocol.to_json()}
        return _digest(values)

    def groups(self, cells: Sequence[Cell]) -> list[tuple[Cell, ...]]:
        """Those of the cells that are measured in turns with each other, in the order of cells."""
        found: dict[Cell, list[Cell]] = {}
        for cell in cells:
            blank = dict.fromkeys(self.protocol.compare, "")
            alone = dataclasses.replace(cell, **blank) if blank else cell  # type: ignore[arg-type]
            found.setdefault(alone, []).append(cell)
        return [tuple(group) for group in found.values()]


def read(path: Path) -> Sweep:
    """A sweep's file; UsageError, which names the key, for what is wrong in it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or error
        raise UsageError(
            f"the sweep cannot be read: {reason}", where=str(path), hint="docs/sweeps.md"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=str(path), hint="docs/sweeps.md") from error
    return _Reader(path).sweep(table)


class _Reader:
    """Turns the tables of a file into a sweep; knows the file, for its errors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sweep(self, table: Table) -> Sweep:
        self._known(table, ("doc", "matrix", "exclude", "protocol"), "the file")
        doc = self._typed(table.get("doc", ""), str, "doc")
        products = self._tables(table.get("matrix", []), "matrix")
        if not products:
            raise self._error("there is no [matrix]", "say which models: [matrix] model = [...]")
        excluded = [
            self._axes(t, "exclude") for t in self._tables(table.get("exclude", []), "exclude")
        ]
        every = [cell for product in products for cell in self._product(product)]
        cells = tuple(
            cell for cell in dict.fromkeys(every) if not any(_matches(cell, e) for e in excluded)
        )
        if not cells:
            raise self._error(
                "the sweep has no cell: everything is excluded", "exclude less: [[exclude]]"
            )
        for rule in excluded:
            if not any(_matches(cell, rule) for cell in every):
                raise self._error(
                    f"[[exclude]] {_said(rule)} matches no cell", "is a value misspelt?"
                )
        return Sweep(self._path.stem, doc, cells, self._protocol(table.get("protocol", {})))

    def _product(self, table: Table) -> Iterator[Cell]:
        axes = self._axes(table, "matrix")
        if "model" not in axes:
            raise self._error("[matrix] has no `model`", 'model = ["yolo_fastest"] or files')
        count = 1
        for values in axes.values():
            count *= len(values)
        if count > MOST_CELLS:
            raise self._error(
                f"[matrix] has {count:,} cells, the most is {MOST_CELLS:,}", "shorten an axis"
            )
        for chosen in itertools.product(*axes.values()):
            yield Cell(**dict(zip(axes, chosen, strict=True)))

    def _axes(self, table: Table, where: str) -> dict[str, list[Any]]:
        """Each axis with its values; one alone need not stand in a list."""
        self._known(table, AXES, f"[{where}]")
        axes = {}
        for axis, given in table.items():
            values = given if isinstance(given, list) else [given]
            if not values:
                raise self._error(f"`{axis}` of [{where}] is empty", "leave it out, or give values")
            kind = int if axis == "threads" else str
            values = [self._typed(value, kind, f"{axis} of [{where}]") for value in values]
            if axis == "threads" and not all(1 <= value <= MAX_THREADS for value in values):
                raise self._error(f"threads of [{where}] are 1 to {MAX_THREADS}", "change them")
            axes[axis] = [self._file(axis, value) for value in values]
        return axes

    def _file(self, axis: str, value: Any) -> Any:
        """Paths are relative to the sweep's file. What is no file there is the name of a network;
        that there is such a one is checked where networks are known.
        """
        if axis not in FILES or not value:
            return value
        path = self._path.parent / Path(value).expanduser()
        return str(path) if axis != "model" or path.exists() else value

    def _protocol(self, table: Table) -> Protocol:
        self._typed(table, dict, "[protocol]")
        numbers = ("launches", "warmup", "runs", "min-time-ms")
        flags = ("per-op", "counters", "energy")
        control = ("cores", "governor", "max-celsius", "wait")
        self._known(table, (*numbers, *flags, *control, "timeout", "compare"), "[protocol]")
        compare = table.get("compare", [])
        compare = compare if isinstance(compare, list) else [compare]
        allowed = [axis for axis in AXES if axis not in ("model", "device")]
        for axis in compare:
            if axis not in allowed:
                raise self._unknown(str(axis), allowed, "`compare` of [protocol]")
        values: dict[str, Any] = {}
        for key in numbers:
            if key in table:
                values[key.replace("-", "_")] = self._typed(table[key], int, key)
        for key in flags:
            values[key.replace("-", "_")] = self._typed(table.get(key, False), bool, key)
        try:
            held = Control(
                self._typed(table.get("cores", ""), str, "cores"),
                self._typed(table.get("governor", "performance"), str, "governor"),
                self._number(table, "max-celsius", 0.0) or None,
                self._number(table, "wait", 600.0),
            )
            timeout_s = self._number(table, "timeout", 600.0)
            return Protocol(Settings(control=held, timeout_s=timeout_s, **values), tuple(compare))
        except UsageError as error:
            raise self._error(f"[protocol]: {error.what}", error.hint) from None

    def _number(self, table: Table, key: str, default: float) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(f"`{key}` must be a number, it is {value!r}", "docs/sweeps.md")
        return float(value)

    def _tables(self, value: Any, name: str) -> list[Table]:
        tables = value if isinstance(value, list) else [value]
        if not all(isinstance(table, dict) for table in tables):
            raise self._error(f"`{name}` must be a table", f"write [{name}] or [[{name}]]")
        return tables

    def _typed(self, value: Any, kind: type, name: str) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            names = {str: "a text", int: "a whole number", bool: "true or false", dict: "a table"}
            raise self._error(f"{name} must be {names[kind]}, it is {value!r}", "docs/sweeps.md")
        return value

    def _known(self, table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        for key in table:
            if key not in known:
                raise self._unknown(key, known, where)

    def _unknown(self, key: str, known: Sequence[str], where: str) -> UsageError:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return self._error(f"unknown key {key!r} in {where}", f"{hint}known: {', '.join(known)}")

    def _error(self, what: str, hint: str) -> UsageError:
        return UsageError(what, where=str(self._path), hint=hint)


def _matches(cell: Cell, rule: Mapping[str, Sequence[Any]]) -> bool:
    return all(getattr(cell, axis) in values for axis, values in rule.items())


def _said(rule: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(f"{axis} = {', '.join(map(str, values))}" for axis, values in rule.items())


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:24]
