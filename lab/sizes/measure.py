"""Weighs the trimmed runner of every network of the zoo, for several machines."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lab.sizes.figures import EXAMPLE, PROFILES, TARGETS, Weighed
from trimtab import __version__, cores, files, size
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.pipeline.built import build, build_profile
from trimtab.pipeline.loaded import load
from trimtab.pipeline.pack import pack
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import model_path
from trimtab.planner import code_bytes
from trimtab.planner.code_bytes import CodeSizes
from trimtab.progress import SILENT, Progress

# What every binary has; strings, tables and what operators share grow with its operators.
_COMMON = ("core", "api", "runner", "libc", "compiler_rt", "linker", "elf")


def weigh(
    networks: Sequence[str], cpus: Sequence[str] = (), progress: Progress = SILENT
) -> list[Weighed]:
    """Builds the runner of each network, or of one of `PROFILES`, for the machines of `cpus` (none:
    for all).

    UsageError for a core that is none of `TARGETS`; raises whatever ends a build.
    """
    known = [cpu for _, cpu in TARGETS]
    wanted = {cores.find(cpu).name for cpu in cpus}
    if unknown := sorted(wanted - {*known}):
        raise UsageError(
            f"sizes are not kept for {', '.join(unknown)}", hint=f"choose from {', '.join(known)}"
        )
    recipes = [
        Recipe(*(("", name) if name in PROFILES else (name, "")), toolchain, cpu)
        for name in networks
        for toolchain, cpu in TARGETS
        if cpu in (wanted or known)
    ]
    weighed = []
    with progress.step("weigh runners", "runners") as step:
        for done, recipe in enumerate(recipes):
            step.update(done, len(recipes), f"{recipe.model or recipe.profile}, {recipe.cpu}")
            weighed.append(_weighed(recipe, progress))
        step.update(len(recipes), len(recipes))
    return weighed


def measure_code(progress: Progress = SILENT) -> dict[str, CodeSizes]:
    """What each operator and kernel adds to a binary of everything in float32, by architecture.
    Raises whatever ends a build.
    """
    found = {}
    full = code_bytes.measured_profile()
    for name in dict.fromkeys(toolchain for toolchain, _ in TARGETS):
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            profile = Path(folder) / f"{full.name}.toml"
            files.write_text(profile, full.to_toml())
            recipe = Recipe("", str(profile), name, output=Path(folder) / "build")
            report = size.measure(build_profile(recipe, progress).output_dir)
            found[find_toolchain(name).arch] = _code_bytes(report)
    return found


def _weighed(recipe: Recipe, progress: Progress) -> Weighed:
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        recipe = replace(recipe, output=Path(folder) / "build")
        models = {}
        if recipe.model:
            built = build(plan(load(recipe, progress), progress), progress)
            made = built.delivered
            variants = built.planned.variants.planned()
            models = {one.plan.prefer: one.footprint.model_bytes for one in variants}
        else:
            made = build_profile(recipe, progress)
        return Weighed(
            recipe.model or recipe.profile,
            recipe.toolchain,
            recipe.cpu,
            runner_bytes=made.runner.stat().st_size,
            onnx_bytes=model_path(recipe.model).stat().st_size if recipe.model else None,
            ttm_bytes=made.model.stat().st_size if made.model else None,
            packed_bytes=pack(made.model).packed_bytes if made.model else None,
            load_ttm_bytes=models.get("load"),
            size_ttm_bytes=models.get("size"),
            versions={"trimtab": __version__, "compiler": made.compiler},
            parts=size.measure(made.output_dir).groups
            if (recipe.model, recipe.cpu) == EXAMPLE
            else {},
        )


def _code_bytes(report: size.SizeReport) -> CodeSizes:
    """What the planner weighs, of a binary of everything."""

    def named(kind: str) -> dict[str, int]:
        return {
            group.partition(":")[2]: n
            for group, n in report.groups.items()
            if group.startswith(f"{kind}:")
        }

    return CodeSizes(sum(report.total(kind) for kind in _COMMON), named("op"), named("kernel"))
