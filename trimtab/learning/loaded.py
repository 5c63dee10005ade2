"""The second stage of the pipeline for a training: its step in place of a network."""

from __future__ import annotations

from dataclasses import replace

from trimtab.camera import attach
from trimtab.errors import UsageError
from trimtab.learning import checkpoint
from trimtab.learning.prepared import PreparedTraining, training_files
from trimtab.pipeline.loaded import Loaded, file_stem
from trimtab.pipeline.precision import ConvertedNetwork
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.recorded import RecordedRecipe
from trimtab.pipeline.resolve import find_target


def load(recipe: Recipe, prepared: PreparedTraining) -> Loaded:
    """The step of a training, to be planned and built like a network; its first checkpoint is
    delivered beside it. The model of `recipe` becomes the file of the step.

    UsageError for what a training does not have: another precision, a budget or a head.
    """
    if recipe.plan.precision != "f32" or recipe.calibration or recipe.budget or recipe.head:
        raise UsageError(
            "a training computes in float32, and has neither a budget nor a head",
            hint="leave out --precision, --calibration, --budget, --head and the --max- options",
        )
    training, request = prepared.training, prepared.request
    recorded = RecordedRecipe.of(replace(recipe, model=""), request, training_files(request))
    source = training.program
    for name, camera in recipe.cameras.items():
        source = attach(source, camera, name)
    model = f"{file_stem(source.name)}.ttm"
    recipe = replace(recipe, toolchain=recipe.toolchain or "host", model=model, trains=True)
    target = find_target(recipe.toolchain, recipe.cpu, recipe.threads, recipe.profile)
    network = ConvertedNetwork(source, recipe.plan)
    beside = {".checkpoint": checkpoint.encode(training.in_order(training.initial), 0)}
    path = prepared.path
    return Loaded(recipe, path, target, source, network, training.program, beside, recorded)
