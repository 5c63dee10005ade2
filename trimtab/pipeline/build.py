"""From a network to a binary: for `build`, which delivers it, and for what measures it."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trimtab
from trimtab import files, passes, paths, size
from trimtab.accuracy import Accuracy, Search
from trimtab.bench.jobs import Subject
from trimtab.build import builder
from trimtab.build.builder import Build
from trimtab.build.toolchain import find_toolchain
from trimtab.devices.registry import DeviceDefinition
from trimtab.errors import UsageError
from trimtab.pipeline.budget import Budget
from trimtab.pipeline.precision import Precise, with_precision
from trimtab.pipeline.quantize import Calibration
from trimtab.pipeline.resolve import model_path, target_of
from trimtab.pipeline.variants import Network, survey
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.planner.profile_overhead import profile_overhead
from trimtab.profile import Profile, find_profile
from trimtab.program import Program, inspection
from trimtab.progress import SILENT, Progress
from trimtab.results.footprint import Footprint
from trimtab.target import Target

PLAN = "plan.toml"  # beside a binary whose precisions were searched: another build need not search
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Recipe:
    """What a binary is made of; "" takes the default (see `./inv --help build`)."""

    model: str = ""
    profile: str = ""
    toolchain: str = ""
    cpu: str = ""
    shapes: Shapes = field(default_factory=dict)
    plan: Plan | None = None
    calibration: Calibration = field(default_factory=Calibration)
    embed_model: bool = False
    example: bool = False
    strings: bool = True
    build_type: str = "Release"
    shared: bool = False
    budget: Budget = field(default_factory=Budget)
    network: Precise | None = None  # that of the model, in the precision of the plan: `loaded`

    @property
    def threads(self) -> int:
        """That the binary will run with, which its plan is made for."""
        return (self.plan.threads if self.plan else 0) or 1

    def on_threads(self, threads: int) -> Recipe:
        """The same for so many threads."""
        plan = dataclasses.replace(self.plan or Plan(), threads=threads)
        return dataclasses.replace(self, plan=plan)

    def on_device(self, definition: DeviceDefinition) -> Recipe:
        """The same with the device's toolchain and core where it names none."""
        toolchain = self.toolchain or definition.toolchain
        return dataclasses.replace(self, toolchain=toolchain, cpu=self.cpu or definition.cpu or "")

    @property
    def told(self) -> tuple[Accuracy | None, Search | None]:
        """The accuracy of the network, and what was searched for it; None where nothing told."""
        return (self.network.accuracy, self.network.search) if self.network else (None, None)


def loaded(recipe: Recipe, progress: Progress = SILENT) -> Recipe:
    """The recipe with its network, which is quantized where the plan says so, and with what that
    decided; itself where it has one, or no model.

    Errors of `with_precision`.
    """
    if recipe.network or not (recipe.model or recipe.profile):
        return recipe
    path = model_path(recipe.model, recipe.profile, progress)
    with progress.step(f"load {path.name}"):
        program = trimtab.load(path, inputs=dict(recipe.shapes))
    target = _target(recipe)
    calibration = recipe.calibration.of(recipe.model)
    network = with_precision(program, recipe.plan, calibration, target, progress)
    return dataclasses.replace(recipe, plan=network.plan, network=network)


def build(recipe: Recipe, output: Path | None = None, progress: Progress = SILENT) -> Build:
    """Builds the binary of a model, of a profile, or of a model with a profile, and delivers it
    into `output` (default: dist/NAME-TOOLCHAIN).

    UsageError when neither is named; ProfileError when no plan of the model lies in the profile;
    BudgetError when nothing fits.
    """
    if not recipe.model and not recipe.profile:
        raise UsageError(
            "what is to be built?", hint="--model FILE, --profile NAME (./inv profile), or both"
        )
    recipe = dataclasses.replace(recipe, toolchain=recipe.toolchain or "host")
    if recipe.budget and not recipe.model:
        raise UsageError("a budget is for a model", hint="name one with --model")
    program = None
    if recipe.model:
        recipe = within_budget(loaded(recipe, progress), progress)
        _, program = planned(recipe, progress)
    profile = profile_for(recipe, program)
    stem = Path(recipe.model).stem if recipe.model else profile.name
    output = output or Path("dist", f"{stem}-{recipe.toolchain}")
    with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        made = _deliver(recipe, program, profile, Path(scratch) / f"{stem}.ttm", output, progress)
    _, search = recipe.told
    if search and recipe.plan:
        text = recipe.plan.to_toml("\n".join((stem, *search.lines())))
        files.write_text(made.output_dir / PLAN, text)
    return made


def within_budget(recipe: Recipe, progress: Progress = SILENT) -> Recipe:
    """The recipe with the fastest preference that fits its budget; as it is, if it has none.

    BudgetError when nothing fits.
    """
    if not recipe.budget:
        return recipe
    recipe = loaded(recipe, progress)
    assert recipe.network, "a budget is for a model"
    source = recipe.network.program

    def weigh_binary(plan: Plan) -> int:
        path = model_path(recipe.model, recipe.profile, progress)
        tried = dataclasses.replace(recipe, model=str(path), plan=plan, budget=Budget())
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            return build(tried, Path(folder) / "build", progress).runner.stat().st_size

    with progress.step(f"look for what fits the budget on {machine_of(recipe)}"):
        network = network_of(source, recipe)
        plan, _ = recipe.budget.choose(network.ways(), weigh_binary)
    return dataclasses.replace(recipe, plan=plan, budget=Budget())


def network_of(source: Program, recipe: Recipe) -> Network:
    """A program as what is to be shipped to the recipe's machine."""
    return Network(
        passes.optimize(source),
        _target(recipe),
        recipe.plan or Plan(),
        recipe.strings,
        recipe.embed_model,
    )


def shipped_of(recipe: Recipe, made: Build, progress: Progress = SILENT) -> list[Footprint]:
    """What a build of the recipe ships, and what else could be; nothing without a model."""
    if not recipe.model:
        return []
    path = model_path(recipe.model, progress=progress)
    recipe = loaded(recipe, progress)
    assert recipe.network, "it has a model"
    with progress.step("weigh other ways to ship it"):
        network = network_of(recipe.network.program, recipe)
        binary_bytes = made.runner.stat().st_size
        return survey(network, path, binary_bytes)


def planned(recipe: Recipe, progress: Progress = SILENT) -> tuple[Program, Program]:
    """The program of a recipe: as it was loaded, and as it is planned for the recipe's machine and
    profile; ProfileError when no plan lies in the profile, errors of `loaded`.
    """
    recipe = loaded(recipe, progress)
    assert recipe.network, "it has a model"
    source, target = recipe.network.program, _target(recipe)
    with progress.step(f"plan it for {machine_of(recipe)}"):
        optimized = passes.optimize(source)
        program = planner.plan(optimized, target, recipe.plan)
        if target.profile:
            cost = profile_overhead(optimized, target, recipe.plan)
            progress.note(f"within the profile {target.profile.name}: {cost}")
        return source, program


def subject_of(
    program: Program, recipe: Recipe, progress: Progress = SILENT, folder: Path | None = None
) -> Subject:
    """The binary of a planned program, and what is to be known to measure it, in `folder` (default:
    one of the cache). `recipe` names the toolchain and the profile that the program was planned
    for.
    """
    profile = profile_for(recipe, program)
    stem = re.sub(r"[^\w.-]", "_", program.name) or "model"
    accuracy, search = recipe.told
    label = profile.name if recipe.profile else "trimmed"
    core = find_toolchain(recipe.toolchain).core(recipe.cpu)
    name = "-".join((stem, label, recipe.toolchain, core.name))
    folder = folder or paths.cache() / "bench" / name
    model = folder / f"{stem}.ttm"
    made = _deliver(recipe, program, profile, model, folder / "build", progress)
    return Subject(
        binary=made.runner,
        model=model,
        is_model_embedded=recipe.embed_model,
        profile=recipe.profile or label,
        toolchain=recipe.toolchain,
        cpu=core.name,
        compiler=made.compiler,
        flags=made.flags,
        operators=[f"{op.type} {op.name}" for op in program.ops],
        network=inspection.network(program, recipe.network.program if recipe.network else None),
        size=size.measure(made.runner).to_json(),
        accuracy=accuracy,
        search=search,
    )


def profile_for(recipe: Recipe, program: Program | None) -> Profile:
    """The profile that is named, or the one that holds just what the program needs."""
    if recipe.profile or program is None:
        profile = find_profile(recipe.profile)
    else:
        profile = trimtab.profile_of(program)
    small = recipe.plan is not None and recipe.plan.prefer == "size"
    return dataclasses.replace(
        profile, strings=recipe.strings and profile.strings, small=small or profile.small
    )


def machine_of(recipe: Recipe) -> str:
    """The machine that is built for, as people call it."""
    core = find_toolchain(recipe.toolchain).core(recipe.cpu).name
    threads = f", {recipe.threads} threads" if recipe.threads > 1 else ""
    return f"{recipe.toolchain}, {core}{threads}"


def _target(recipe: Recipe) -> Target:
    return target_of(recipe.toolchain, recipe.cpu, recipe.threads, recipe.profile)


def _deliver(
    recipe: Recipe,
    program: Program | None,
    profile: Profile,
    model: Path,
    output: Path,
    progress: Progress,
) -> Build:
    """Writes the program into `model` and builds."""
    if program:
        program.save(model, names=profile.strings)
    request = builder.BuildRequest(
        profile=profile,
        output_dir=output,
        toolchain=recipe.toolchain,
        cpu=recipe.cpu or None,
        kernels=trimtab.profile_of(program).kernels if program else (),
        model=model if program else None,
        embed_model=recipe.embed_model,
        example=recipe.example,
        build_type=recipe.build_type,
        shared=recipe.shared,
    )
    return builder.build(request, progress)
