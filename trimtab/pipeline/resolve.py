"""Resolves the names of a command line: a model, a target machine, a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trimtab import importers, zoo
from trimtab.build.output import check_output
from trimtab.build.toolchain import find_toolchain
from trimtab.devices import find_device
from trimtab.errors import UsageError
from trimtab.importers.free_dimensions.bounds import Size
from trimtab.paths import PROGRAM
from trimtab.pipeline.precision import check_float
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import MAX_THREADS, PREFERENCES, WEIGHTS_AUTO, WEIGHTS_TYPES, Plan
from trimtab.planner.precision import PRECISIONS
from trimtab.planner.rounding import ACCURACIES
from trimtab.profile import find_profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target


def model_path(model: str, profile: str = "", progress: Progress = SILENT) -> Path:
    """The file of a model or of a zoo network.

    Without a model, the first zoo network of the profile's family: `yolo` means `yolo_fastest`.
    UsageError if there is none.
    """
    model = model or _of_family(profile)
    if model in zoo.names():
        return zoo.cached(model, progress)
    return Path(model)


def _of_family(profile: str) -> str:
    family = [name for name in zoo.names() if profile and name.startswith(profile)]
    if not family:
        raise UsageError(
            "which model?",
            hint=f"--model FILE, or --model NAME of a zoo network ({PROGRAM} inspect lists them)",
        )
    return family[0]


def check(recipe: Recipe, *, needs_model: bool = True, needs_samples: bool = True) -> None:
    """Raises what is wrong with the names of a recipe, as the later stages would, but at once:
    its device, toolchain, core and profile, a model's file or format, samples that a float network
    needs, and the folder to deliver into. Loads nothing.
    """
    if recipe.measurement:
        recipe = recipe.on_device(find_device(recipe.measurement.device))
    find_toolchain(recipe.toolchain or "host").core(recipe.cpu)
    if recipe.model or needs_model:
        model = recipe.model or _of_family(recipe.profile)
        if model not in zoo.names():
            path = Path(model)
            importers.find(path)
            is_converted = recipe.plan.precision != "f32" or bool(recipe.calibration)
            if needs_samples and is_converted and importers.is_float(path):
                check_float(recipe.plan, recipe.calibrating, path.stem)
    if recipe.profile:
        find_profile(recipe.profile)
    if recipe.output:
        check_output(recipe.output)


def load_program(
    model: str, shapes: Mapping[str, tuple[Size, ...]] | None = None, progress: Progress = SILENT
) -> Program:
    """The program of a model file or of a zoo network; errors of `importers.load`."""
    path = model_path(model, progress=progress)
    return importers.load_at_batch_one(path, dict(shapes or {}), progress.note)[0]


def find_target(toolchain: str, cpu: str = "", threads: int = 1, profile: str = "") -> Target:
    """The machine that a toolchain builds for: with the core `cpu`, or any of the architecture.

    `host` or "" without a core is this machine with all its features. `profile` limits the plan to
    the contents of that profile's binary.
    """
    if toolchain in ("", "host") and not cpu:
        target = Target.host(threads=threads)
    else:
        target = Target.of(find_toolchain(toolchain or "host").arch, cpu or None, threads)
    return target.with_profile(find_profile(profile)) if profile else target


def read_plan(
    path: str,
    *,
    prefer: str = "",
    weights: str = "",
    accuracy: str = "",
    precision: str = "",
    threads: int | None = None,
) -> Plan:
    """The plan of a TOML file, "" for the planner's own, with the other options in place of its
    values. UsageError for a number of threads or a word that is not valid.
    """
    words = {
        "prefer": (prefer, PREFERENCES),
        "weights": (weights, (*WEIGHTS_TYPES, WEIGHTS_AUTO)),
        "accuracy": (accuracy, ACCURACIES),
        "precision": (precision, PRECISIONS),
    }
    for option, (word, choices) in words.items():
        if word and word not in choices:
            raise UsageError(f"{option} cannot be {word!r}", hint=f"use {', '.join(choices)}")
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"threads is {threads}, it must be 1 to {MAX_THREADS}")
    plan = Plan.read(path) if path else Plan()
    return replace(
        plan,
        prefer=prefer or plan.prefer,
        weights_type=weights or plan.weights_type,
        stored=plan.stored if weights in ("", WEIGHTS_AUTO) else {},
        accuracy=accuracy or plan.accuracy,
        precision=precision or plan.precision,
        threads=threads or plan.threads,
    )
