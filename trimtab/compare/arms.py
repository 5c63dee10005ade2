"""The sides of a comparison: a model, a folder that `build` left, or a run to repeat."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trimtab
from trimtab import size, zoo
from trimtab.bench import archive
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Settings, Subject
from trimtab.build import builder
from trimtab.devices.registry import DeviceDefinition
from trimtab.errors import PlanError, UsageError
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.measured import archived
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.reference import reference_output
from trimtab.pipeline.stores import run_store, store_of
from trimtab.program import inspection
from trimtab.progress import SILENT, Progress
from trimtab.results import index, records


@dataclass(frozen=True)
class Side:
    """One side as it was asked for: `what` is a model file or zoo network, a folder of `build`, or
    a run (file, id, `last`); `recipe` how a model is to be built; `threads` of the runner (None:
    those of a run that is repeated, or of the plan, else 1). `given`: options of the recipe that
    were written out.
    """

    what: str
    recipe: Recipe = field(default_factory=Recipe)
    threads: int | None = None
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises UsageError for threads that the runner would refuse."""
        if self.threads is not None:
            Settings(threads=self.threads)


@dataclass(frozen=True)
class Ready:
    """A side that can be measured."""

    subject: Subject
    expected: Golden
    threads: int


def ready(
    side: Side, definition: DeviceDefinition, folder: Path, progress: Progress = SILENT
) -> Ready:
    """Builds a model, or finds what was built; runs are looked for in `folder`.

    UsageError for what is none of these, and for options of a build beside what is built; errors of
    the build.
    """
    check(side)
    path = Path(side.what)
    if _is_model(side.what):
        recipe = side.recipe.on_threads(side.threads or side.recipe.threads)
        recipe = replace(recipe, measurement=MeasurementRequest(definition.name)).on_device(
            definition
        )
        built = build(plan(load(recipe, progress), progress), progress)
        return Ready(*archived(built, progress), recipe.threads)
    if path.is_dir():
        return Ready(*_of_folder(path, progress), side.threads or 1)
    record = records.read(index.find(side.what, folder))
    subject, expected = archive.of_run(record, store_of(record.header))
    return Ready(subject, expected, side.threads or int(record.header.protocol["threads"]))


def check(side: Side) -> None:
    """Raises UsageError for options of a build beside what is built."""
    if side.given and not _is_model(side.what):
        raise UsageError(
            f"{side.what} is built already: --{side.given[0]} cannot change it",
            hint="give the model itself, or the option to the other side alone: "
            "--a-OPTION or --b-OPTION",
        )


def _is_model(what: str) -> bool:
    path = Path(what)
    return what in zoo.names() or (path.is_file() and path.suffix != records.SUFFIX)


def _of_folder(folder: Path, progress: Progress) -> tuple[Subject, Golden]:
    try:
        record: dict[str, Any] = json.loads((folder / builder.RECORD).read_text(encoding="utf-8"))
        about = record["model"]
        toolchain, cpu, compiler = (str(record[key]) for key in ("toolchain", "cpu", "compiler"))
        flags, profile = list(record["flags"]["compile"]), str(record["profile"]["name"])
        is_embedded = bool(about and about["embedded"])
        model = folder / f"{Path(about['name']).stem}.ttm" if about else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"not a folder that `./inv build` left: {error}",
            where=str(folder),
            hint="build with --model FILE --output FOLDER, and name that folder",
        ) from error
    if model is None or is_embedded:
        raise UsageError(
            "the build has no model beside its binary, so nobody knows what it must compute",
            where=str(folder),
            hint="build with --model, without --embed-model",
        )
    program = trimtab.load(model)
    try:
        with progress.step("compute the expected output"):
            expected = reference_output(model, program, {})
    except PlanError as error:
        raise UsageError(
            f"this machine cannot tell what the build must compute: {error.what}",
            where=str(folder),
            hint="name the model that it was built from, with the same options",
        ) from error
    binary = folder / "trimtab-run"
    subject = Subject(
        binary=binary,
        model=model,
        is_model_embedded=False,
        profile=profile,
        toolchain=toolchain,
        cpu=cpu,
        compiler=compiler,
        flags=flags,
        operators=[f"{op.type} {op.name}" for op in program.ops],
        network=inspection.network(program),
        size=size.measure(binary).to_json(),
    )
    return archive.keep(subject, expected, run_store()), expected
