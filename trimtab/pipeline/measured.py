"""The last stage of the pipeline: a binary measured on its device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.bench import archive, protocol
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Subject
from trimtab.bench.protocol import RunOutcome
from trimtab.devices import DeviceDefinition, Room, find_device, readiness
from trimtab.devices.control import lease
from trimtab.pipeline import reference
from trimtab.pipeline.built import Built, build, footprints, subject_of
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.stores import run_store
from trimtab.program import Program
from trimtab.progress import SILENT, Progress


@dataclass(frozen=True)
class Measured:
    """A binary and the outcome of its run: the path of the record, and the error that ended it."""

    built: Built
    outcome: RunOutcome


def measure(built: Built, progress: Progress = SILENT) -> Measured:
    """Measures a binary as its recipe asks, and records the run.

    A run that fails on the device is recorded, and its error is in the outcome.
    """
    measurement = built.recipe.measurement or MeasurementRequest()
    settings = replace(measurement.settings, threads=built.recipe.threads)
    subject, expected = archived(built, progress)
    with find_device(measurement.device).open(trust_new=measurement.trust_new) as device:
        outcome = protocol.measure(
            device, subject, expected, settings, measurement.results, progress
        )
    return Measured(built, outcome)


def archived(built: Built, progress: Progress = SILENT) -> tuple[Subject, Golden]:
    """The subject of a measurement, with its files in the store of recent runs, and the outputs
    that it must compute.
    """
    subject = replace(subject_of(built), shipped=footprints(built, progress))
    expected = expected_output(built)
    return archive.store(subject, expected, run_store()), expected


def expected_output(built: Built) -> Golden:
    """The outputs that a binary must compute: those of its plan, or computed now."""
    return built.planned.expected or reference.expected_output(built.planned.loaded)


def bench(recipe: Recipe, progress: Progress = SILENT) -> Measured:
    """The whole pipeline: loads, plans, builds and measures. A recipe without toolchain or core
    takes those of the device.

    Raises every error from before the measurement; errors of the run as `measure`.
    """
    measurement = recipe.measurement or MeasurementRequest()
    definition = find_device(measurement.device)
    recipe = replace(recipe, measurement=measurement).on_device(definition)
    room = ready_device(
        definition,
        recipe.toolchain,
        trust_new=measurement.trust_new,
        wait_s=measurement.settings.control.wait_s,
    )
    return measure(build_for(room, recipe, progress), progress)


def ready_device(
    definition: DeviceDefinition,
    *toolchains: str,
    trust_new: bool = False,
    wait_s: float = 0.0,
) -> Room:
    """The room on a device that can run what toolchains build; errors of `readiness.check`, and
    DeviceBusyError for one that somebody else measures on, unless the measurement waits for it.

    Connects for a moment: what prevents a measurement is known before minutes of planning and
    compiling.
    """
    with definition.open(trust_new=trust_new) as device:
        if not wait_s:
            lease.check_free(device)
        rooms = [readiness.check(device, toolchain) for toolchain in toolchains]
        return rooms[0] if rooms else device.room()


def build_for(room: Room, recipe: Recipe, progress: Progress = SILENT) -> Built:
    """Loads, plans and builds a recipe for a device with this room.

    Raises `DeviceFullError` as soon as its model cannot have room there: before planning if even a
    quarter of its weights is too much, else before compiling.
    """
    loaded = load(recipe, progress)
    file = f"{loaded.stem}.ttm"
    room.check(_weights_bytes(loaded.source) // 4, file)
    planned = plan(loaded, progress)
    if not recipe.embed_model:
        room.check(_weights_bytes(planned.program), file)
    return build(planned, progress)


def _weights_bytes(program: Program) -> int:
    used = {name for op in program.ops for name in op.inputs}
    return sum(v.data.nbytes for v in program.constants() if v.name in used and v.data is not None)
