"""Measures the size of the trimmed runner of each network of the zoo, for several targets."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lab.sizes.figures import (
    DETECTOR,
    DETECTOR_CAMERA,
    DETECTOR_HEAD,
    DETECTOR_INPUT,
    DETECTOR_NETWORK,
    EXAMPLE,
    PROFILES,
    TARGETS,
    RunnerSizeRow,
)
from trimtab import cores, files, size
from trimtab.build.toolchain import find_toolchain
from trimtab.camera import parse
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.pipeline.built import build, build_profile
from trimtab.pipeline.loaded import load
from trimtab.pipeline.pack import pack
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import model_path
from trimtab.planner import code_bytes
from trimtab.planner.code_bytes import CodeSizes
from trimtab.progress import SILENT, Progress

# Parts of every binary; strings, tables and code shared by operators grow with its operators.
_COMMON = ("core", "api", "runner", "libc", "compiler_rt", "linker", "elf")


def measure_runners(
    networks: Sequence[str], cpus: Sequence[str] = (), progress: Progress = SILENT
) -> tuple[list[RunnerSizeRow], dict[str, str]]:
    """Builds the runner of each network or profile of `PROFILES`, for the targets with a core of
    `cpus` (default: all targets). Returns the rows and the version of the compiler.

    UsageError for a core that is not in `TARGETS`; raises the errors of builds.
    """
    known_cpus = [cpu for _, cpu in TARGETS]
    selection = {cores.find(cpu).name for cpu in cpus}
    if unknown := sorted(selection - {*known_cpus}):
        raise UsageError(
            f"no sizes are committed for {', '.join(unknown)}",
            hint=f"use one of {', '.join(known_cpus)}",
        )
    recipes = [
        (name, _recipe(name, toolchain, cpu))
        for name in networks
        for toolchain, cpu in TARGETS
        if cpu in (selection or known_cpus)
    ]
    rows, compiler = [], ""
    with progress.step("measure the sizes of runners", "runners") as step:
        for done, (name, recipe) in enumerate(recipes):
            step.update(done, len(recipes), f"{name}, {recipe.cpu}")
            row, compiler = _measure(name, recipe, progress)
            rows.append(row)
        step.update(len(recipes), len(recipes))
    return rows, {"compiler": compiler}


def measure_code(progress: Progress = SILENT) -> dict[str, CodeSizes]:
    """Code bytes of each operator and kernel in a binary of all float32 operators, by architecture.

    Raises the errors of builds.
    """
    sizes = {}
    full = code_bytes.measured_profile()
    for name in dict.fromkeys(toolchain for toolchain, _ in TARGETS):
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            profile = Path(folder) / f"{full.name}.toml"
            files.write_text(profile, full.to_toml())
            recipe = Recipe("", str(profile), name, output=Path(folder) / "build")
            report = size.measure(build_profile(recipe, progress).output_dir)
            sizes[find_toolchain(name).arch] = _code_bytes(report)
    return sizes


def _recipe(name: str, toolchain: str, cpu: str) -> Recipe:
    """The build of a network, of a profile, or of the detector behind a camera."""
    if name == DETECTOR:
        return Recipe(
            DETECTOR_NETWORK,
            toolchain=toolchain,
            cpu=cpu,
            cameras={DETECTOR_INPUT: parse(DETECTOR_CAMERA)},
            head=HeadRequest(DETECTOR_HEAD),
        )
    model, profile = ("", name) if name in PROFILES else (name, "")
    return Recipe(model, profile, toolchain, cpu)


def _measure(name: str, recipe: Recipe, progress: Progress) -> tuple[RunnerSizeRow, str]:
    """The sizes, and the compiler."""
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        recipe = replace(recipe, output=Path(folder) / "build")
        models = {}
        if recipe.model:
            built = build(plan(load(recipe, progress), progress), progress)
            delivery = built.delivered
            variants = built.planned.variants.planned()
            models = {one.plan.prefer: one.footprint.model_bytes for one in variants}
        else:
            delivery = build_profile(recipe, progress)
        row = RunnerSizeRow(
            name,
            recipe.toolchain,
            recipe.cpu,
            runner_bytes=delivery.runner.stat().st_size,
            onnx_bytes=model_path(recipe.model).stat().st_size if recipe.model else None,
            ttm_bytes=delivery.model.stat().st_size if delivery.model else None,
            packed_bytes=pack(delivery.model).packed_bytes if delivery.model else None,
            load_ttm_bytes=models.get("load"),
            size_ttm_bytes=models.get("size"),
            parts=size.measure(delivery.output_dir).groups if (name, recipe.cpu) == EXAMPLE else {},
        )
        return row, delivery.compiler


def _code_bytes(report: size.SizeReport) -> CodeSizes:
    """The code sizes of the cost model, from the size report of a binary of all operators."""

    def named(kind: str) -> dict[str, int]:
        return {
            group.partition(":")[2]: n
            for group, n in report.groups.items()
            if group.startswith(f"{kind}:")
        }

    return CodeSizes(sum(report.total(kind) for kind in _COMMON), named("op"), named("kernel"))
