"""The file of a sweep: the configurations to build, and the protocol that measures them.

A `[matrix]` is the product of its axes. Several `[[matrix]]` tables form the union of their
products, without the cells that an `[[exclude]]` matches. A cell is one configuration on a device.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from trimtab import strict_json
from trimtab.bench.jobs import MAX_THREADS, Settings
from trimtab.devices import find_device
from trimtab.devices.control import Control
from trimtab.errors import TrimtabError, UsageError
from trimtab.pipeline import input_shapes
from trimtab.toml_table import Minimum, TomlFile

# The precision f16 where the core computes in it, elsewhere f16 as the type of stored weights.
HALF = "half"
TUNED = "tuned"  # the plan that is measured on the cell's device (docs/tuning.md)
MAX_CELLS = 10_000  # a larger product is a mistake in the file


@dataclass(frozen=True)
class Cell:
    """One configuration on one device.

    Fields are named after the options of `bench`, and an empty value means the option's default.
    `plan` and `calibration` are paths, and so is `model`, unless it is a network of the zoo; the
    plan "tuned" stands for one that is still to be measured.
    `input` holds one `NAME=1,3,224,224` per graph input with a given shape, cameras, and views of
    the pictures that calibrate.
    """

    model: str
    input: tuple[str, ...] = ()
    profile: str = ""
    precision: str = ""
    toolchain: str = ""
    cpu: str = ""
    threads: int = 1
    plan: str = ""
    prefer: str = ""
    weights: str = ""
    accuracy: str = ""
    calibration: str = ""
    budget: str = ""
    device: str = "local"

    @property
    def configuration(self) -> dict[str, str | int]:
        """The axes that are set, for records and tables.

        Files appear by name only, so that a configuration is the same on every machine.
        """
        values = dataclasses.asdict(self)
        for axis in FILES:
            values[axis] = Path(values[axis]).name
        values["input"] = " ".join(self.input)
        return {axis: value for axis, value in values.items() if value != ""}

    @property
    def plan_file(self) -> Path | None:
        """The plan file, None for the rule's plan and for one that is still to be measured."""
        return Path(self.plan) if self.plan not in ("", TUNED) else None

    @property
    def binary(self) -> Cell:
        """The cell without its device: cells that differ in the device alone share a build."""
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
# Axes that apply to some precisions only: cells of other precisions do not have them, so that
# comparing precisions compares these, too.
OF_PRECISION = ("calibration", "budget")


@dataclass(frozen=True)
class SweepProtocol:
    """How every cell is measured.

    `settings` are those of `bench`; `threads` is an axis of the matrix instead. Cells that differ
    only in the axes of `compare` are measured in interleaved rounds.
    """

    settings: Settings = field(default_factory=Settings)
    compare: tuple[str, ...] = ()

    def to_json(self, *, is_emulated: bool) -> dict[str, Any]:
        """The part of a cell's key: what has an effect on the figures of its device, with defaults
        filled in. An emulator counts exactly, whatever the launches, clocks and rounds.
        """
        settings = self.settings.counted() if is_emulated else self.settings
        values = dataclasses.asdict(settings.resolved(is_emulated=is_emulated))
        control = values.pop("control")
        del values["threads"], values["timeout_s"], control["wait_s"]
        if is_emulated:
            return values
        return {**values, "control": control, "compare": list(self.compare)}


@dataclass(frozen=True)
class Sweep:
    """A sweep as read from its file; `name` is the file's stem."""

    name: str
    doc: str
    cells: tuple[Cell, ...]
    protocol: SweepProtocol

    def key(self, cell: Cell, binary_sha256: str, model_sha256: str) -> str:
        """Identifies a measurement, in hex: binary, model, configuration, device and protocol."""
        return _digest(
            {
                "binary": binary_sha256,
                "model": model_sha256,
                "configuration": cell.configuration,
                "protocol": self._protocol_of(cell),
            }
        )

    def series(self, cell: Cell) -> str:
        """Identifies a cell across commits: the key without content hashes."""
        values = {"configuration": cell.configuration, "protocol": self._protocol_of(cell)}
        return _digest(values)

    def _protocol_of(self, cell: Cell) -> dict[str, Any]:
        return self.protocol.to_json(is_emulated=counts_exactly(cell.device))

    def groups(self, cells: Sequence[Cell]) -> list[tuple[Cell, ...]]:
        """The cells grouped by what they are compared with, in the order of `cells`."""
        groups: dict[Cell, list[Cell]] = {}
        blank = dict.fromkeys(self.protocol.compare, "")
        if not blank.keys().isdisjoint(("precision", "plan")):
            blank |= dict.fromkeys(OF_PRECISION, "")
        for cell in cells:
            common = dataclasses.replace(cell, **blank) if blank else cell  # type: ignore[arg-type]
            groups.setdefault(common, []).append(cell)
        return [tuple(group) for group in groups.values()]


def counts_exactly(device: str) -> bool:
    """Whether a device is user-mode QEMU, whose counts are the same in every launch: compared cells
    need not alternate, and clocks and launches have no effect.
    """
    return find_device(device).transport == "qemu_user"


def read(path: Path) -> Sweep:
    """The sweep of a file. Raises UsageError, which names the key, for a mistake in it."""
    return _Reader(path).sweep()


class _Reader:
    """Converts the tables of a file into a sweep."""

    def __init__(self, path: Path) -> None:
        self._file = TomlFile(path, UsageError, hint="docs/sweeps.md")

    def sweep(self) -> Sweep:
        table = self._file.table
        self._file.check_keys(table, ("doc", "matrix", "exclude", "protocol"))
        doc = self._file.value(str, table.get("doc", ""), "doc")
        products = self._tables(table.get("matrix", []), "matrix")
        if not products:
            raise self._error("there is no [matrix]", "name the models: [matrix] model = [...]")
        rules = [
            self._axes(rule, "exclude")
            for rule in self._tables(table.get("exclude", []), "exclude")
        ]
        candidates = [cell for product in products for cell in self._product(product)]
        cells = tuple(
            cell
            for cell in dict.fromkeys(candidates)
            if not any(_matches(cell, rule) for rule in rules)
        )
        if not cells:
            raise self._error("the sweep has no cells: [[exclude]] matches all", "exclude fewer")
        for rule in rules:
            if not any(_matches(cell, rule) for cell in candidates):
                raise self._error(
                    f"[[exclude]] {_rule_text(rule)} matches no cell", "is a value misspelled?"
                )
        protocol = self._protocol(table.get("protocol", {}))
        return Sweep(self._file.path.stem, doc, cells, protocol)

    def _product(self, table: Mapping[str, Any]) -> Iterator[Cell]:
        axes = self._axes(table, "matrix")
        if "model" not in axes:
            raise self._error("[matrix] has no `model`", 'model = ["yolo_fastest"], or files')
        count = math.prod(len(values) for values in axes.values())
        if count > MAX_CELLS:
            raise self._error(
                f"[matrix] has {count:,} cells, at most {MAX_CELLS:,} are allowed",
                "shorten an axis",
            )
        for values in itertools.product(*axes.values()):
            yield Cell(**dict(zip(axes, values, strict=True)))

    def _axes(self, table: Mapping[str, Any], key: str) -> dict[str, list[Any]]:
        """Each axis with its values; a single value may stand without a list."""
        self._file.check_keys(table, AXES, key)
        axes = {}
        for axis, value in table.items():
            values = value if isinstance(value, list) else [value]
            if not values:
                raise self._error(f"`{axis}` of [{key}] is empty", "leave it out, or add values")
            kind = Annotated[int, Minimum(1)] if axis == "threads" else str
            if axis == "input":
                axes[axis] = [self._input(item, key) for item in values]
                continue
            values = [self._file.value(kind, item, f"{key}.{axis}") for item in values]
            if axis == "threads" and max(values) > MAX_THREADS:
                raise self._error(f"threads of [{key}] must be 1 to {MAX_THREADS}", "")
            axes[axis] = [self._resolved(axis, item) for item in values]
        return axes

    def _input(self, value: Any, key: str) -> tuple[str, ...]:
        """One value of the axis `input`: a shape, or a list with one shape for each input."""
        shapes = value if isinstance(value, list) else [value]
        texts = tuple(self._file.value(str, shape, f"{key}.input") for shape in shapes)
        try:
            input_shapes.parse_all(texts)
        except UsageError as error:
            raise self._error(f"`input` of [{key}]: {error.what}", error.hint) from None
        return texts

    def _resolved(self, axis: str, value: Any) -> Any:
        """Resolves paths relative to the sweep's file.

        A model that is no file there is taken for the name of a network of the zoo, and the plan
        "tuned" is no file.
        """
        if axis not in FILES or not value or (axis == "plan" and value == TUNED):
            return value
        path = self._file.path.parent / Path(value).expanduser()
        return str(path) if axis != "model" or path.exists() else value

    def _protocol(self, table: Any) -> SweepProtocol:
        if not isinstance(table, dict):
            raise self._file.wrong("protocol", "a table")
        compare = table.get("compare", [])
        compare = compare if isinstance(compare, list) else [compare]
        comparable = [axis for axis in AXES if axis not in ("model", "device")]
        self._file.check_keys(dict.fromkeys(map(str, compare)), comparable, "protocol.compare")
        options = {key: value for key, value in table.items() if key != "compare"}
        values = dataclasses.asdict(self._file.record(_Options, options, key="protocol"))
        try:
            control = Control(
                values.pop("cores"),
                values.pop("governor"),
                values.pop("max_celsius") or None,
                values.pop("wait"),
            )
            settings = Settings(control=control, timeout_s=values.pop("timeout"), **values)
        except UsageError as error:
            raise self._error(f"[protocol]: {error.what}", error.hint) from None
        return SweepProtocol(settings, tuple(compare))

    def _tables(self, value: Any, name: str) -> list[dict[str, Any]]:
        tables = value if isinstance(value, list) else [value]
        if not all(isinstance(table, dict) for table in tables):
            raise self._file.wrong(name, f"a table: write [{name}] or [[{name}]]")
        return tables

    def _error(self, what: str, hint: str) -> TrimtabError:
        return UsageError(what, where=str(self._file.path), hint=hint or "docs/sweeps.md")


@dataclass(frozen=True)
class _Options:
    """The keys of [protocol], with the defaults of `bench`."""

    launches: int | None = None
    warmup: int | None = None
    runs: int | None = None
    min_time_ms: int | None = field(default=None, metadata={"key": "min-time-ms"})
    per_op: bool = field(default=False, metadata={"key": "per-op"})
    counters: bool = False
    energy: bool = False
    cores: str = ""
    governor: str = "performance"
    max_celsius: float = field(default=0.0, metadata={"key": "max-celsius"})
    wait: float = 600.0
    timeout: float = 600.0


def _matches(cell: Cell, rule: Mapping[str, Sequence[Any]]) -> bool:
    return all(getattr(cell, axis) in values for axis, values in rule.items())


def _rule_text(rule: Mapping[str, Sequence[Any]]) -> str:
    texts = {
        axis: (" ".join(value) if isinstance(value, tuple) else str(value) for value in values)
        for axis, values in rule.items()
    }
    return ", ".join(f"{axis} = {', '.join(values)}" for axis, values in texts.items())


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(strict_json.dumps(values, sort_keys=True).encode()).hexdigest()[:24]
