"""From a network to a binary: for `build`, which delivers it, and for what measures it."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trimtab
from trimtab import passes, paths, size
from trimtab.bench.jobs import Subject
from trimtab.bench.shipped import Shipped
from trimtab.build import builder
from trimtab.build.builder import Build
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.planner import planner
from trimtab.planner.choices import Plan
from trimtab.planner.price import price
from trimtab.profile import Profile, find_profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target
from trimtab.workflow.budget import Budget
from trimtab.workflow.models import model_path, target_of
from trimtab.workflow.shipped import Network, survey

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
    embed_model: bool = False
    strings: bool = True
    build_type: str = "Release"
    budget: Budget = field(default_factory=Budget)

    @property
    def threads(self) -> int:
        """That the binary will run with, which its plan is made for."""
        return (self.plan.threads if self.plan else 0) or 1

    def on_threads(self, threads: int) -> Recipe:
        """The same for so many threads."""
        plan = dataclasses.replace(self.plan or Plan(), threads=threads)
        return dataclasses.replace(self, plan=plan)


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
    recipe = within_budget(recipe, progress)
    program = None
    if recipe.model:
        _, program = planned(model_path(recipe.model, progress=progress), recipe, progress)
    profile = profile_for(recipe, program)
    stem = Path(recipe.model).stem if recipe.model else profile.name
    output = output or Path("dist", f"{stem}-{recipe.toolchain}")
    with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        return _deliver(recipe, program, profile, Path(scratch) / f"{stem}.ttm", output, progress)


def within_budget(recipe: Recipe, progress: Progress = SILENT) -> Recipe:
    """The recipe with the fastest preference that fits its budget; as it is, if it has none.

    BudgetError when nothing fits.
    """
    if not recipe.budget:
        return recipe
    path = model_path(recipe.model, recipe.profile, progress)

    def weigh_binary(plan: Plan) -> int:
        tried = dataclasses.replace(recipe, model=str(path), plan=plan, budget=Budget())
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            return build(tried, Path(folder) / "build", progress).runner.stat().st_size

    with progress.step(f"look for what fits the budget on {machine_of(recipe)}"):
        network = network_of(trimtab.load(path, inputs=dict(recipe.shapes)), recipe)
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


def shipped_of(recipe: Recipe, made: Build, progress: Progress = SILENT) -> list[Shipped]:
    """What a build of the recipe ships, and what else could be; nothing without a model."""
    if not recipe.model:
        return []
    path = model_path(recipe.model, progress=progress)
    with progress.step("weigh other ways to ship it"):
        network = network_of(trimtab.load(path, inputs=dict(recipe.shapes)), recipe)
        binary_bytes = made.runner.stat().st_size
        return survey(network, path, binary_bytes)


def planned(path: Path, recipe: Recipe, progress: Progress) -> tuple[Program, Program]:
    """The program in a model's file: as it is, and as it is planned for the recipe's machine and
    profile; ProfileError when no plan lies in the profile.
    """
    target = _target(recipe)
    with progress.step(f"load {path.name} and plan it for {machine_of(recipe)}"):
        source = trimtab.load(path, inputs=dict(recipe.shapes))
        optimised = passes.optimize(source)
        program = planner.plan(optimised, target, recipe.plan)
        if target.profile:
            cost = price(optimised, target, recipe.plan)
            progress.note(f"within the profile {target.profile.name}: {cost}")
        return source, program


def subject_of(program: Program, recipe: Recipe, progress: Progress = SILENT) -> Subject:
    """The binary of a planned program, built in the cache, and what is to be known to measure it.
    `recipe` names the toolchain and the profile that the program was planned for.
    """
    profile = profile_for(recipe, program)
    stem = re.sub(r"[^\w.-]", "_", program.name) or "model"
    label = profile.name if recipe.profile else "trimmed"
    core = find_toolchain(recipe.toolchain).core(recipe.cpu)
    folder = paths.cache() / "bench" / "-".join((stem, label, recipe.toolchain, core.name))
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
        size=size.measure(made.runner).to_json(),
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
        build_type=recipe.build_type,
    )
    return builder.build(request, progress)
