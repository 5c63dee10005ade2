"""Weighs the trimmed runner of every network of the zoo, for several machines."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import trimtab
from trimtab import __version__, cores
from trimtab.errors import UsageError
from trimtab.instruments.sizes import FULL, TARGETS, Weighed
from trimtab.progress import SILENT, Progress
from trimtab.workflow.build import Recipe, build, network_of
from trimtab.workflow.models import model_path
from trimtab.workflow.pack import pack


def weigh(
    networks: Sequence[str], cpus: Sequence[str] = (), progress: Progress = SILENT
) -> list[Weighed]:
    """Builds the runner of each network (or `FULL`) for the machines of `cpus` (none: for all).

    UsageError for a core that is none of `TARGETS`; raises whatever ends a build.
    """
    known = [cpu for _, cpu in TARGETS]
    wanted = {cores.find(cpu).name for cpu in cpus}
    if unknown := sorted(wanted - {*known}):
        raise UsageError(
            f"sizes are not kept for {', '.join(unknown)}", hint=f"choose from {', '.join(known)}"
        )
    recipes = [
        Recipe("" if name == FULL else name, FULL if name == FULL else "", toolchain, cpu)
        for name in networks
        for toolchain, cpu in TARGETS
        if cpu in (wanted or known)
    ]
    weighed = []
    with progress.step("weigh runners", "runners") as step:
        for done, recipe in enumerate(recipes):
            step.update(done, len(recipes), f"{recipe.model or FULL}, {recipe.cpu}")
            weighed.append(_weighed(recipe, progress))
        step.update(len(recipes), len(recipes))
    return weighed


def _weighed(recipe: Recipe, progress: Progress) -> Weighed:
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        made = build(recipe, Path(folder) / "build", progress)
        models = {}
        if recipe.model:
            network = network_of(trimtab.load(model_path(recipe.model)), recipe, 1)
            models = {plan.prefer: way.model_bytes for plan, way in network.ways()}
        return Weighed(
            recipe.model or FULL,
            recipe.toolchain,
            recipe.cpu,
            runner_bytes=made.runner.stat().st_size,
            onnx_bytes=model_path(recipe.model).stat().st_size if recipe.model else None,
            ttm_bytes=made.model.stat().st_size if made.model else None,
            packed_bytes=pack(made.model).packed_bytes if made.model else None,
            load_ttm_bytes=models.get("load"),
            size_ttm_bytes=models.get("size"),
            versions={"trimtab": __version__, "compiler": made.compiler},
        )
