"""Recipes in records: what was built, in values that a later build reads again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from trimtab import files, importers, zoo
from trimtab.bench.jobs import Settings
from trimtab.bench.pace import Pace
from trimtab.errors import ResultError
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.toml_table import TomlFile

T = TypeVar("T")

_PACED = MeasurementRequest(settings=Settings(pace=Pace(1)))


@dataclass(frozen=True)
class RecordedRecipe:
    """A recipe as a record has it. `recipe`: its values that are not defaults; `sources`: the
    SHA-256 of each file that it names, by path; `paced`: the runner takes frames at a fixed rate;
    `choices`: what its plan chose, also by default: precision, weights, preference and accuracy.
    `training`: the request of a training (`learning.request`), as `recipe`; empty for inference.
    """

    recipe: Mapping[str, Any]
    sources: Mapping[str, str]
    paced: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(
        recipe: Recipe, training: object = None, training_files: Sequence[Path] = ()
    ) -> RecordedRecipe:
        """The record of a recipe, and of the request of a training that reads these files;
        FileAccessError for a file that cannot be read.
        """
        values: dict[str, Any] = _values(recipe)
        for name in ("measurement", "output"):
            values.pop(name, None)
        read = [*_sources(recipe), *training_files]
        sources = {str(path): files.sha256(path) for path in read}
        choices, request = recipe.plan.named_choices, _values(training) if training else {}
        return RecordedRecipe(values, sources, recipe.is_paced, choices, request)

    @staticmethod
    def read(values: object, where: Path) -> RecordedRecipe:
        """The record that the file `where` has; ResultError if there is none."""
        if not isinstance(values, dict) or not values:
            raise ResultError(
                "the record does not say how its binary was built",
                where=str(where),
                hint="an earlier trimtab made it: build again",
            )
        return _file(where).record(RecordedRecipe, values)

    def to_json(self) -> dict[str, Any]:
        """The values for a record."""
        return asdict(self)

    def for_output(self, output: Path, where: Path) -> Recipe:
        """The recipe, for a build into another folder. ResultError, which names the file `where`,
        for values that are none of a recipe.
        """
        measurement = _PACED if self.paced else None
        table = dict(self.recipe)
        return _file(where).record(Recipe, table, output=output, measurement=measurement)

    def request(self, kind: type[T], where: Path) -> T:
        """The request of a training as its class `kind`; errors of `for_output`."""
        return _file(where).record(kind, dict(self.training))


def _file(where: Path) -> TomlFile:
    return TomlFile(where, ResultError, hint="another version of trimtab wrote it")


def _values(value: Any) -> Any:
    """A dataclass as a dictionary without the fields that have their default; the values of others
    as JSON has them.
    """
    if is_dataclass(value):
        return {
            own.name: _values(getattr(value, own.name))
            for own in fields(value)
            if getattr(value, own.name) != _default(own)
        }
    if isinstance(value, Mapping):
        return {key: _values(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_values(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _sources(recipe: Recipe) -> list[Path]:
    """The files that a recipe names: of the model, of the profile and of the calibration."""
    model = Path(recipe.model)
    is_file = recipe.model and recipe.model not in zoo.names() and model.exists()
    sources = importers.files(model) if is_file else []
    calibration = recipe.calibration
    for text in (recipe.profile, calibration.samples, calibration.ranges):
        path = Path(text)
        if text and path.is_dir():
            sources += sorted(item for item in path.rglob("*") if item.is_file())
        elif text and path.is_file():
            sources.append(path)
    return sources
