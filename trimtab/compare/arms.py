"""The arms of a comparison: each is a model to build, a folder that `build` made, or a past run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trimtab import importers, size, strict_json, zoo
from trimtab.bench import archive
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Settings, Subject
from trimtab.build import output
from trimtab.build.toolchain import list_toolchains
from trimtab.devices.registry import DeviceDefinition
from trimtab.errors import PlanError, UsageError
from trimtab.paths import PROGRAM
from trimtab.pipeline import resolve
from trimtab.pipeline.measured import archived, build_for, ready_device
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.reference import reference_output
from trimtab.pipeline.stores import run_store, store_of
from trimtab.program import inspection
from trimtab.progress import SILENT, Progress
from trimtab.results import index, records


@dataclass(frozen=True)
class Arm:
    """One arm as the user requests it.

    `what` is a model file or zoo network, a folder of `build`, or a run (file, id, `last`).
    `recipe` says how to build a model, and `overrides` are its options that the user sets.
    `threads` None is the number of a past run, or of the plan, else 1.
    """

    what: str
    recipe: Recipe = field(default_factory=Recipe)
    threads: int | None = None
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises UsageError if the runner would refuse the number of threads."""
        if self.threads is not None:
            Settings(threads=self.threads)


@dataclass(frozen=True)
class PreparedArm:
    """An arm that can be measured."""

    subject: Subject
    expected: Golden
    threads: int


def prepare_arm(
    arm: Arm,
    definition: DeviceDefinition,
    folder: Path,
    progress: Progress = SILENT,
    *,
    trust_new: bool = False,
    wait_s: float = 0.0,
) -> PreparedArm:
    """Builds a model, or loads an existing build; past runs are searched in `folder`.

    Before a build it connects to the device once: `ready_device`.

    Raises UsageError if the arm is none of the three kinds, or has options of a build without being
    a model, and the errors of the build.
    """
    check(arm)
    path = Path(arm.what)
    if _is_model(arm.what):
        recipe = arm.recipe.on_threads(arm.threads or arm.recipe.threads)
        recipe = replace(recipe, measurement=MeasurementRequest(definition.name)).on_device(
            definition
        )
        room = ready_device(definition, recipe.toolchain, trust_new=trust_new, wait_s=wait_s)
        built = build_for(room, recipe, progress)
        return PreparedArm(*archived(built, progress), recipe.threads)
    if path.is_dir():
        return PreparedArm(*_of_folder(path, progress), arm.threads or 1)
    record = records.read(index.find(arm.what, folder))
    subject, expected = archive.of_run(record, store_of(record.header))
    threads = arm.threads or int(record.header.protocol["threads"])
    return PreparedArm(subject, expected, threads)


def check(arm: Arm) -> None:
    """Raises UsageError for build options on an arm that is already built."""
    if arm.overrides and not _is_model(arm.what):
        raise UsageError(
            f"{arm.what} is built already: --{arm.overrides[0]} cannot change it",
            hint="name the model instead, or set the option for the other arm alone: "
            "--a-OPTION or --b-OPTION",
        )


def toolchain_of(arm: Arm, definition: DeviceDefinition, folder: Path) -> str:
    """The toolchain that builds an arm, or has built it: "" if that does not exist any more. Errors
    as in `prepare_arm`, and those of `resolve.check`.
    """
    if _is_model(arm.what):
        recipe = arm.recipe.on_device(definition)
        resolve.check(recipe, needs_model=False)
        return recipe.toolchain
    path = Path(arm.what)
    if path.is_dir():
        toolchain = str(_build_record(path)["toolchain"])
    else:
        toolchain = records.read(index.find(arm.what, folder)).header.toolchain
    return toolchain if toolchain in list_toolchains() else ""


def _is_model(what: str) -> bool:
    path = Path(what)
    return what in zoo.names() or (path.is_file() and path.suffix != records.SUFFIX)


def _of_folder(folder: Path, progress: Progress) -> tuple[Subject, Golden]:
    record = _build_record(folder)
    model, is_embedded = record["model"], record["embedded"]
    if model is None or is_embedded:
        raise UsageError(
            "the build has no model file beside its binary, so its expected output is unknown",
            where=str(folder),
            hint="build with --model, without --embed-model",
        )
    program = importers.load(model, cache=False)
    try:
        with progress.step("compute the expected output"):
            expected = reference_output(model, program, {})
    except PlanError as error:
        raise UsageError(
            f"this machine cannot compute the expected output of the build: {error.what}",
            where=str(folder),
            hint="name the model that it was built from, with the same options",
        ) from error
    binary = folder / "trimtab-run"
    subject = Subject(
        binary=binary,
        model=model,
        is_model_embedded=False,
        profile=record["profile"],
        toolchain=record["toolchain"],
        cpu=record["cpu"],
        compiler=record["compiler"],
        flags=record["flags"],
        operators=[f"{op.type} {op.name}" for op in program.ops],
        network=inspection.network(program),
        size=size.measure(binary).to_json(),
        made_from=record["made_from"],
    )
    return archive.store(subject, expected, run_store()), expected


def _build_record(folder: Path) -> dict[str, Any]:
    """The record of a build in its folder; UsageError for a folder of another kind."""
    try:
        text = (folder / output.RECORD).read_text(encoding="utf-8")
        record: dict[str, Any] = strict_json.loads(text)
        about = record["model"]
        return {
            **{key: str(record[key]) for key in ("toolchain", "cpu", "compiler")},
            "flags": list(record["flags"]["compile"]),
            "profile": str(record["profile"]["name"]),
            "made_from": dict(record.get("made_from") or {}),
            "embedded": bool(about and about["embedded"]),
            "model": folder / f"{Path(about['name']).stem}.ttm" if about else None,
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"not an output folder of `{PROGRAM} build`: {error}",
            where=str(folder),
            hint="build with --model FILE --output FOLDER, and name that folder",
        ) from error
