"""Tasks on models: inspect, explain, convert, profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, changed, command, group, option
from trimtab.cli._options import (
    CAMERA_HELP,
    HEAD_HELP,
    INPUT_HELP,
    PRECISION_HELP,
    THREADS_HELP,
    VIEW_HELP,
    PlanChoices,
    PlanOptions,
    PrecisionOptions,
    RecipeOptions,
    parse_inputs,
)
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.pipeline.recipe import Recipe

GROUP = "Build"
RENAMED = {"zoo": "inspect"}


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """Options of `inspect`."""

    model: tuple[str, ...] = option(
        "model file or zoo network; without one: list the networks of the zoo", ()
    )
    input: tuple[str, ...] = option(VIEW_HELP, ())
    optimized: bool = option("show the network before and after optimization", False)
    all: bool = option("also show operators that only move or map elements", False)
    toolchain: str = option("plan for this toolchain; default: this machine")
    cpu: str = option("plan for this core")
    plan: bool = option(
        "print only the plan: a file to edit and to give to build, bench or convert", False
    )
    choices: PlanChoices = group(PlanChoices)
    json: bool = option("print JSON", False)
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError for several models."""
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve

        if len(self.model) > 1:
            raise UsageError("it inspects one model", hint="leave out the others")
        if self.model:
            resolve.check(self.recipe())

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for invalid values."""
        network = RecipeOptions.of(self, model=self.model[0])
        return network.read(self.choices.read(), self.precision.read(), cameras=False)


@command(InspectOptions, engine=True)
def inspect(options: InspectOptions) -> None:
    """Show a model's operators, shapes, MACs, parameters and memory; its plan; or list the zoo."""
    from dataclasses import asdict

    from trimtab import reports, tables, zoo
    from trimtab.cli._progress import shown
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan
    from trimtab.planner.plan_file import plan_of
    from trimtab.program import inspection
    from trimtab.sight import advice

    if not options.model:
        print("\n".join(zoo.names()))
        return
    recipe, progress = options.recipe(), shown(quiet=options.json)
    loaded = load(recipe, progress)
    source, network = loaded.source, loaded.network
    if options.plan:
        planned = source if source.planned else plan(loaded, progress).program
        title = [f"{planned.name}, planned for {planned.target}", *network.comments()]
        print(network.with_precisions(plan_of(planned)).to_toml("\n".join(title)), end="")
        return
    # Only a plan knows the type that an operator computes in.
    is_converted = recipe.plan.precision != "f32" and not source.planned
    programs = [] if is_converted and not options.optimized else [source]
    if options.optimized or is_converted:
        programs.append(plan(loaded, progress).program)
    facts = [inspection.inspect(program) for program in programs]
    if options.json:
        kinds = ("accuracy", network.accuracy), ("search", network.search)
        print(inspection.to_json(facts, {key: asdict(one) for key, one in kinds if one}))
        return
    accuracy = reports.precision(network.accuracy, network.search, network.bounds)
    order = ["passes, in order: " + ", ".join(programs[-1].passes)] if options.optimized else []
    page = [*accuracy, *order, *inspection.page(facts, whole=options.all)]
    print(tables.text(page if source.planned else [*page, advice(source)]))


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of `explain`."""

    model: str = argument("model file or zoo network")
    input: tuple[str, ...] = option(INPUT_HELP, ())
    weights: str = option("how weights are stored: f32 (default), f16, int8, bits6 to bits3")
    plan: str = option("plan file that says how weights are stored")
    all: bool = option("also show layers that cost nothing", False)
    json: bool = option("print JSON", False)


@command(ExplainOptions, engine=True)
def explain(options: ExplainOptions) -> None:
    """Show what each layer of a model becomes, weighs and costs; what is not supported, and why."""
    from trimtab import explanation, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import read_plan

    progress = shown(quiet=options.json)
    plan = read_plan(options.plan, weights=options.weights)
    if plan.chooses_weights:
        raise UsageError(
            "auto chooses by samples, which explain has none of",
            hint=f"name a form, or a plan of `{PROGRAM} build --weights auto`: --plan plan.toml",
        )
    explained = explanation.explain(options.model, parse_inputs(options.input), progress, plan)
    print(explained.to_json() if options.json else tables.text(explained.page(whole=options.all)))


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """Options of `convert`."""

    model: str = argument("model file or zoo network")
    output: str = argument("the file to write: .ttm, .onnx, .param (ncnn) or .prototxt (Caffe)")
    input: tuple[str, ...] = option(CAMERA_HELP, ())
    tensor: tuple[str, ...] = option(
        "tensor to return instead of the model's outputs, such as a raw head (repeatable)", ()
    )
    head: str = option(HEAD_HELP)
    toolchain: str = option("plan for this toolchain's CPUs")
    cpu: str = option("plan for this core")
    plan: PlanOptions = group(PlanOptions, help="{help}; with --toolchain")
    profile: str = option(
        "contents of the binary that will run it: a profile's name or file; with --toolchain"
    )
    names: bool = option("keep names in the file", True)
    check: bool = option(
        "compute with the files of another format, here and in a runtime of that format if it is"
        " installed, before they are written",
        True,
    )
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`, and of the output's format and place."""
        from pathlib import Path

        from trimtab import exporters, files
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve

        resolve.check(self.recipe())
        if exporters.exporter_for(Path(self.output)) and self.toolchain:
            raise UsageError(
                f"{self.output} cannot hold a plan for {self.toolchain}",
                hint="leave out --toolchain, or name a .ttm file",
            )
        files.check_writable(Path(self.output))

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for a plan without a machine."""
        from dataclasses import replace

        from trimtab.errors import UsageError

        planning = changed(self.plan), changed(self.precision), self.cpu, self.profile
        if any(planning) and not self.toolchain:
            raise UsageError("a plan is for a machine: which?", hint="--toolchain NAME, or host")
        recipe = RecipeOptions.of(self).read(self.plan.read(), self.precision.read())
        return replace(recipe, outputs=self.tensor)


@command(ConvertOptions, engine=True)
def convert(options: ConvertOptions) -> None:
    """Convert a model to .ttm, as it is or planned with --toolchain; or to Caffe, ncnn or ONNX."""
    from pathlib import Path

    from trimtab import exporters, reports
    from trimtab.cli._progress import shown
    from trimtab.pipeline.export import export
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan

    recipe, output, progress = options.recipe(), Path(options.output), shown()
    exporter = exporters.exporter_for(output)
    loaded = load(recipe, progress)
    program = loaded.source
    if recipe.toolchain:
        program = plan(loaded, progress).program
        network = loaded.network
        for table in reports.precision(network.accuracy, network.search, network.bounds):
            print(table.text() + "\n")
    if exporter:
        done = export(program, output, exporter, check=options.check, progress=progress)
        for note in done.notes:
            print(f"note: {note}")
        if done.readers:
            print(f"checked: the same results in {' and '.join(done.readers)}")
        for file in done.files:
            print(f"written: {file} ({file.stat().st_size:,} bytes)")
        return
    program.save(output, names=options.names)
    size, target = output.stat().st_size, program.target or "not planned"
    print(f"written: {output} ({size:,} bytes, {len(program.ops)} operators, {target})")


@dataclass(frozen=True, kw_only=True)
class ProfileOptions:
    """Options of `profile`."""

    model: tuple[str, ...] = option("model file or zoo network (repeatable: the union)", ())
    input: tuple[str, ...] = option(VIEW_HELP, ())
    toolchain: str = option("plan for this toolchain; default: this machine")
    cpu: str = option("plan for this core")
    precision: str = option(PRECISION_HELP)
    threads: int | None = option(THREADS_HELP, None)
    output: str = option("write the profile to this TOML file")
    strings: bool = option("keep names and error texts", True)
    calibration: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError without a model; FileAccessError for the output."""
        from pathlib import Path

        from trimtab import files
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve

        if not self.model:
            raise UsageError(
                "name at least one model", hint="--model net.onnx, or --model NAME of a zoo network"
            )
        for recipe in self.recipes():
            resolve.check(recipe)
        if self.output:
            files.check_writable(Path(self.output))

    def recipes(self) -> list[Recipe]:
        """A recipe for each model; UsageError for invalid values."""
        from trimtab.pipeline.resolve import read_plan

        plan = read_plan("", precision=self.precision, threads=self.threads)
        networks = [RecipeOptions.of(self, model=model) for model in self.model]
        return [one.read(plan, self.calibration.read(), cameras=False) for one in networks]


@command(ProfileOptions, engine=True)
def profile(options: ProfileOptions) -> None:
    """Show the operators, dtypes and kernels that models need; write them as a profile."""
    from functools import reduce
    from pathlib import Path

    from trimtab import escape, files
    from trimtab.build.derived_profile import profile_of
    from trimtab.cli._progress import shown
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan
    from trimtab.profile import Profile

    progress, profiles, comments = shown(), [], []
    for recipe in options.recipes():
        planned = plan(load(recipe, progress), progress)
        network = planned.loaded.network
        profiles.append(profile_of(planned.program, strings=options.strings))
        if network.accuracy:
            comments += [f"{recipe.model}, in {options.precision}", *network.comments()]
    union = reduce(Profile.union, profiles)
    if options.output:
        files.write_text(Path(options.output), union.to_toml())
        print("\n".join([*comments, f"written: {options.output}"]))
    else:
        lines = [f"# {escape.line(comment)}\n" for comment in comments]
        print("".join(lines) + union.to_toml(), end="")
