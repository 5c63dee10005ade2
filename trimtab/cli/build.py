"""Tasks that build binaries and show their size: build, size."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.cli._command import changed, command, group, option
from trimtab.cli._engine import build_engine
from trimtab.cli._options import (
    THREADS_HELP,
    BudgetOptions,
    PlanOptions,
    PrecisionOptions,
    TrainingOptions,
)
from trimtab.cli._options import RecipeOptions as RecipeOptions  # noqa: PLC0414
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.build.builder import Build
    from trimtab.learning.request import TrainingRequest
    from trimtab.pipeline.recipe import Recipe
    from trimtab.progress import Progress
    from trimtab.results.footprint import Footprint
    from trimtab.size import SizeReport

GROUP = "Build"


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of `build`."""

    network: RecipeOptions = group(RecipeOptions)
    output: str = option("folder to deliver into; default: dist/NAME-TOOLCHAIN")
    embed_model: bool = option("link the model into the runner: a single file", False)
    example: bool = option("also deliver a C program that runs this model", False)
    plan: PlanOptions = group(PlanOptions)
    limits: BudgetOptions = group(BudgetOptions)
    strings: bool = option("keep names and error texts; --no-strings drops them", True)
    shared: bool = option(
        "also deliver libtrimtab.so: the output is a prefix for CMake and pkg-config", False
    )
    pictures: bool = option("the runner's --image also decodes JPEG and PNG files", False)
    debug: bool = option("without optimization, with debug information", False)
    json: bool = option("print the build record and the sizes as JSON", False)
    precision: PrecisionOptions = group(PrecisionOptions)
    train: bool = option(
        "a binary that trains the model, or the network of --solver, in place of its inference",
        False,
    )
    training: TrainingOptions = group(TrainingOptions, help="{help}; with --train")

    def validate(self) -> None:
        """Errors of `resolve.check`."""
        from trimtab.pipeline import resolve

        recipe = self.recipe()
        if self.train:
            self.request()
        resolve.check(recipe, needs_model=not (self.network.profile or self.train))

    def request(self) -> TrainingRequest:
        """The training of these options; UsageError for invalid values."""
        return self.training.read(self.network.model, self.recipe().shapes)

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for invalid values."""
        from dataclasses import replace

        from trimtab.errors import UsageError

        if self.example and (self.embed_model or not self.network.model):
            why = "--embed-model delivers none" if self.embed_model else "there is none"
            raise UsageError(
                f"--example is a program for the model file, and {why}",
                hint="leave out --embed-model" if self.network.model else "name one with --model",
            )
        recipe = self.network.read(self.plan.read(), self.precision.read())
        if self.pictures and not any(camera.min_size for camera in recipe.cameras.values()):
            raise UsageError(
                "--pictures is for cameras whose frames may differ in size",
                hint='such as --input "images=camera(nv12, 64x64..1920x1080) | yolo"',
            )
        if not self.train and changed(self.training):
            options = ", ".join(f"--{name.replace('_', '-')}" for name in changed(self.training))
            raise UsageError(f"{options} are for trainings", hint="add --train")
        if self.train and self.example:
            raise UsageError("--example is a program for inference", hint="leave out --train")
        return replace(
            recipe,
            budget=self.limits.read(self.plan.choices.prefer),
            embed_model=self.embed_model,
            example=self.example,
            strings=self.strings,
            build_type="Debug" if self.debug else "Release",
            shared=self.shared,
            pictures=self.pictures,
            output=Path(self.output) if self.output else None,
        )


@command(BuildOptions, engine=True)
def build(options: BuildOptions) -> None:
    """Build a model's runner, libtrimtab.a, header and .ttm file, and show their sizes."""
    from trimtab import reports, size
    from trimtab.cli._progress import shown
    from trimtab.pipeline import built
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan

    recipe, progress = options.recipe(), shown(quiet=options.json)
    footprints: list[Footprint] = []
    network = None
    if options.train:
        delivered = _build_training(options, recipe, progress)
    elif recipe.model:
        loaded = load(recipe, progress)
        network = loaded.network
        result = built.build(plan(loaded, progress), progress)
        footprints = built.footprints(result, progress)
        delivered = result.delivered
    else:
        delivered = built.build_profile(recipe, progress)
    report = size.measure(delivered.output_dir)
    accuracy, search = (network.accuracy, network.search) if network else (None, None)
    if options.json:
        facts: dict[str, object] = {"output": str(delivered.output_dir)}
        facts |= {"shipped": [asdict(footprint) for footprint in footprints]}
        facts |= {"accuracy": asdict(accuracy) if accuracy else None}
        facts |= {"search": asdict(search) if search else None}
        _print_json({**delivered.record, **facts, "size": report.to_json()})
    else:
        for table in reports.precision(accuracy, search, network.bounds if network else ()):
            print(table.text() + "\n")
        _print_summary(delivered, footprints, report)


def _build_training(options: BuildOptions, recipe: Recipe, progress: Progress) -> Build:
    """Builds the binary that makes the steps of a training."""
    from trimtab.learning import loaded
    from trimtab.learning.prepared import prepare
    from trimtab.pipeline.built import build
    from trimtab.pipeline.planned import plan

    prepared = prepare(options.request(), progress)
    return build(plan(loaded.load(recipe, prepared), progress), progress).delivered


def _print_summary(delivered: Build, footprints: Sequence[Footprint], report: SizeReport) -> None:
    from trimtab import reports

    if footprints:
        print(reports.shipped(footprints).text() + "\n")
    kinds = {group.partition(":")[0]: None for group in report.groups}
    totals = ", ".join(
        f"{kind} {report.total(kind):,}" for kind in kinds if report.total(kind) > 99
    )
    print(f"{delivered.output_dir}:")
    for path in (delivered.runner, delivered.library, delivered.header, delivered.model):
        if path:
            print(f"  {path.name:<20} {path.stat().st_size:>12,} bytes")
    if (delivered.output_dir / "example").is_dir():
        print("  example/             a C program that runs this model: its README.md")
    compiler = delivered.compiler
    print(f"  build.json, debug/   {compiler}; the runner with its symbols, and its link map")
    print(f"runner: {totals}")
    print(f"more: {PROGRAM} size {shlex.quote(str(delivered.output_dir))}")


def _print_json(value: object) -> None:
    from trimtab import strict_json

    print(strict_json.dumps(value, indent=1))


@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Options of `size`."""

    binary: tuple[str, ...] = option("runner, or folder of a build (repeatable)", ())
    symbols: int = option("also list this many of the largest symbols", 0)
    model: str = option(
        "instead of binaries: a model file or zoo network; shows the bytes and the time that each "
        "algorithm and kernel of its plan costs and saves"
    )
    toolchain: str = option("with --model: machine to plan for; default: Linux, static")
    cpu: str = option("with --model: core to plan for, e.g. cortex-a53")
    plan: str = option("with --model: plan file with algorithms and kernels")
    threads: int | None = option(f"with --model: {THREADS_HELP}", None)
    json: bool = option("print JSON", False)


@command(SizeOptions)
def size(options: SizeOptions) -> None:
    """Show the size of a binary's parts, or the cost and benefit of each part of a model's plan."""
    from trimtab import size, tables
    from trimtab.errors import UsageError

    if bool(options.binary) == bool(options.model):
        raise UsageError(
            "which binary, or which model?",
            hint=f"{PROGRAM} size dist/NAME-TOOLCHAIN, or {PROGRAM} size --model NAME --cpu CORE",
        )
    if options.model:
        _show_plan_costs(options)
        return
    reports = [size.measure(Path(path)) for path in options.binary]
    if options.json:
        _print_json([report.to_json() for report in reports])
    else:
        print(tables.text(size.tables(reports, options.symbols)))


def _show_plan_costs(options: SizeOptions) -> None:
    build_engine(quiet=options.json)

    from trimtab.cli._progress import shown
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.plan_costs import plan_costs, table, toolchain_with_code_sizes
    from trimtab.pipeline.planned import plan
    from trimtab.pipeline.resolve import read_plan

    toolchain = options.toolchain or toolchain_with_code_sizes(options.cpu)
    plan_file = read_plan(options.plan, threads=options.threads)
    recipe = RecipeOptions.of(options, toolchain=toolchain).read(plan_file)
    progress = shown(quiet=options.json)
    costs = table(plan_costs(plan(load(recipe, progress), progress), progress))
    print(costs.json() if options.json else costs.text())
