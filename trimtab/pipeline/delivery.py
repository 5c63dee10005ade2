"""Builds for the pipeline: the profile of a binary, its model file, the builder's request."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.build import builder, example
from trimtab.build.builder import Build
from trimtab.build.derived_profile import profile_of
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import Plan
from trimtab.profile import Profile, find_profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress


def profile_for(recipe: Recipe, plan: Plan, program: Program | None = None) -> Profile:
    """The profile that the recipe names, or exactly what `program` needs."""
    if recipe.profile or program is None:
        profile = find_profile(recipe.profile)
    else:
        profile = profile_of(program)
    return replace(
        profile,
        strings=recipe.strings and profile.strings,
        small=plan.prefer == "size" or profile.small,
    )


def deliver(
    recipe: Recipe,
    profile: Profile,
    output: Path,
    program: Program | None = None,
    model: Path | None = None,
    progress: Progress = SILENT,
    texts: Mapping[str, str | bytes] | None = None,
    made_from: Mapping[str, Any] | None = None,
) -> Build:
    """Builds the binary of a profile into `output`; errors of `builder.build`.

    `program`: the planned network to deliver with it, written to the file `model` first. `texts`:
    more files to deliver, by their path in the folder. `made_from`: the recipe for the record.
    """
    texts = dict(texts or {})
    if program and model:
        program.save(model, names=profile.strings)
        if recipe.example:
            files = example.sources(program, model.name, names=profile.strings)
            texts |= {f"example/{name}": text for name, text in files.items()}
    request = builder.BuildRequest(
        profile=profile,
        output_dir=output,
        toolchain=recipe.toolchain or "host",
        cpu=recipe.cpu or None,
        kernels=profile_of(program).kernels if program else (),
        model=model,
        embed_model=recipe.embed_model,
        texts=texts,
        made_from=made_from or {},
        build_type=recipe.build_type,
        paced=recipe.is_paced,
        trains=recipe.trains,
        takes_images=any(camera.min_size for camera in recipe.cameras.values()),
        pictures=recipe.pictures,
        tensors=recipe.tensors,
        keeps_states=any(op.name == "state" for op in profile.operators()),
        shared=recipe.shared,
    )
    return builder.build(request, progress)


def runner_bytes(
    recipe: Recipe, program: Program, profile: Profile, progress: Progress = SILENT
) -> int:
    """The size of the runner that the recipe builds for a planned network; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
        folder = Path(name)
        model = folder / f"{Path(recipe.model).stem or 'model'}.ttm"
        build = deliver(recipe, profile, folder / "build", program, model, progress)
        return build.runner.stat().st_size
