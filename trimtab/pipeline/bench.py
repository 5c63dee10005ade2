"""The main job: from a model to a measured, recorded run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import trimtab
from trimtab import paths
from trimtab.bench import archive, golden, oracle, protocol
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Settings, Subject
from trimtab.bench.protocol import Outcome
from trimtab.devices import find_device
from trimtab.pipeline.build import (
    Recipe,
    Shapes,
    loaded,
    network_of,
    planned,
    subject_of,
    within_budget,
)
from trimtab.pipeline.resolve import model_path
from trimtab.pipeline.variants import survey
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import can_compute_f16
from trimtab.program import Program
from trimtab.program.program import NUMPY_DTYPES
from trimtab.progress import SILENT, Progress
from trimtab.results.records import Header
from trimtab.target import Target


@dataclass(frozen=True)
class BenchRequest:
    """What to measure, where and how. A recipe without toolchain or core takes the device's, one
    without a model the zoo's network of the profile's family.
    """

    recipe: Recipe
    device: str = "local"
    trust_new: bool = False
    settings: Settings = field(default_factory=Settings)


def bench(request: BenchRequest, folder: Path, progress: Progress = SILENT) -> Outcome:
    """Build, push, measure, record into `folder`.

    A run that fails on the device is recorded and its error is in the outcome; whatever fails
    before is raised as a TrimtabError.
    """
    definition = find_device(request.device)
    recipe = request.recipe.on_threads(request.settings.threads)
    made = prepare(recipe.on_device(definition), progress)
    with definition.open(trust_new=request.trust_new) as device:
        subject, expected = made.built(progress)
        return protocol.measure(device, subject, expected, request.settings, folder, progress)


@dataclass(frozen=True)
class Prepared:
    """A model planned for a device, and what it must compute: all that needs neither a compiler nor
    the device.
    """

    recipe: Recipe
    path: Path
    source: Program
    program: Program
    expected: Golden

    def built(self, progress: Progress = SILENT) -> tuple[Subject, Golden]:
        """Builds it; the binary and the model are kept (see `trimtab.bench.archive`)."""
        subject = subject_of(self.program, self.recipe, progress)
        with progress.step("weigh other ways to ship it"):
            network = network_of(self.source, self.recipe)
            ways = survey(network, self.path, subject.binary.stat().st_size)
        subject = dataclasses.replace(subject, shipped=ways)
        return archive.keep(subject, self.expected, kept_folder()), self.expected


def prepare(recipe: Recipe, progress: Progress = SILENT) -> Prepared:
    """Loads and plans a model for the recipe's machine, and computes the expected output."""
    recipe = within_budget(loaded(recipe, progress), progress)
    path = model_path(recipe.model, recipe.profile, progress)
    source, program = planned(recipe, progress)
    is_own = recipe.network is not None and recipe.network.is_own
    with progress.step("compute the expected output"):
        plan = recipe.plan or Plan()
        expected = on_host(source, plan) if is_own else expected_output(path, source, recipe.shapes)
        # Weights that are stored in f16 are rounded as those are that f16 computes with.
        is_half = "f16" in (plan.precision, plan.weights_type, *plan.precisions.values())
        expected = expected.within("f16" if is_half else "f32")
    return Prepared(recipe, path, source, program, expected)


def kept_folder() -> Path:
    """Where the binaries and models of the newest runs are kept."""
    return paths.cache() / "kept"


def swept_folder() -> Path:
    """Where those of sweeps are kept."""
    return paths.cache() / "sweep" / "kept"


def store_of(header: Header) -> Path:
    """The one of these that has what a run measured, if it is kept."""
    return swept_folder() if "sweep" in header.protocol else kept_folder()


def expected_output(path: Path, source: Program, shapes: Shapes) -> Golden:
    """What the device must compute, by an independent engine where one reads the format.

    ONNX models go through onnxruntime. Other formats have no engine that can be asked for: their
    inputs are run on this machine with the portable kernels, which proves the device against the
    host, not the importer; the record says so. A `.ttm` that is planned already is run as it is:
    PlanError when this machine lacks the kernels that its plan names.
    """
    return oracle.onnx_golden(path, shapes) if path.suffix == ".onnx" else on_host(source)


def on_host(source: Program, plan: Plan | None = None) -> Golden:
    """What this machine computes of seeded inputs, in the precisions of `plan` where it can: where
    integers follow on f16, other roundings are other integers.
    """
    free = [source.vars[name] for name in source.inputs]
    inputs = oracle.samples((var.shape, NUMPY_DTYPES[var.dtype]) for var in free)
    how = "the kernels of its plan" if source.planned else "trimtab's portable kernels"
    portable = Target.portable(Target.host().arch)
    given = Plan()
    if plan and can_compute_f16(portable):
        given = Plan(precision=plan.precision, precisions=plan.precisions)
    runnable = source if source.planned else trimtab.optimize(source, portable, given)
    outputs = trimtab.Session(runnable).run(dict(zip(source.inputs, inputs, strict=True)))
    return Golden(
        inputs,
        [outputs[name] for name in source.outputs],
        list(source.outputs),
        f"{how} on the host (not independent)",
        steps=_last_steps(source),
    )


def _last_steps(program: Program) -> list[float]:
    """What a step of the integers is worth that each output is made of last; 0 without any."""

    def step(names: Iterable[str]) -> float:
        stored = [program.vars[name] for name in names]
        scales = [max(v.quantization.scale) for v in stored if v.data is None and v.quantization]
        return max(scales, default=0.0)

    reads = [
        (op.inputs, op.outputs, 0.0 if step(op.outputs) else step(op.inputs)) for op in program.ops
    ]
    steps = golden.last_steps(program.outputs, reads)
    return [1.0 if step([name]) else s for name, s in zip(program.outputs, steps, strict=True)]
