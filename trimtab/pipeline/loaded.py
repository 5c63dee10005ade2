"""The second stage of the pipeline: a recipe's network in the precision of its plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from trimtab import heads, importers
from trimtab.camera import attach
from trimtab.errors import ImportModelError
from trimtab.pipeline.precision import ConvertedNetwork, check, convert
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.recorded import RecordedRecipe
from trimtab.pipeline.resolve import find_target, model_path
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target


@dataclass(frozen=True)
class Loaded:
    """A network that is not optimized yet. `recipe` has its toolchain filled in, and the name of
    its head in place of "auto"; `path` is the model file and `source` its program; `target` is the
    recipe's machine, limited to its profile. `bare` is the network before cameras and a head were
    attached. `beside`: files to deliver beside the model, by suffix. `recorded`: what a record says
    of the recipe; None: all that there is to say is in `recipe`.
    """

    recipe: Recipe
    path: Path
    target: Target
    source: Program
    network: ConvertedNetwork
    bare: Program
    beside: Mapping[str, bytes] = field(default_factory=dict)
    recorded: RecordedRecipe | None = None

    @property
    def stem(self) -> str:
        """The name of the model's file on a device, without suffix."""
        return file_stem(self.source.name)


def file_stem(name: str) -> str:
    """The name of a program as that of a file, without suffix."""
    return re.sub(r"[^\w.-]", "_", name) or "model"


def load(recipe: Recipe, progress: Progress = SILENT) -> Loaded:
    """Reads the model of a recipe and converts it to the precision of the plan.

    Without a model, the profile's name chooses a network of the zoo. UsageError without either;
    errors of the importers and of `convert`.
    """
    recipe = replace(recipe, toolchain=recipe.toolchain or "host")
    path = model_path(recipe.model, recipe.profile, progress)
    with progress.step(f"load {path.name}"):
        source, shapes = importers.load_at_batch_one(
            path, dict(recipe.shapes), progress.note, list(recipe.outputs) or None
        )
        _check_weights(source, path)
    recipe, head = replace(recipe, shapes=shapes), recipe.head
    check(source, recipe.plan, recipe.calibrating)  # before a head is proven
    if head:
        with progress.step(f"prove head {head.name}"):
            proof = heads.prove(source, head)
        progress.note(str(proof))
        source, head = proof.program, proof.request
        recipe = replace(recipe, head=head)
    target = find_target(recipe.toolchain, recipe.cpu, recipe.threads, recipe.profile)
    network = convert(source, recipe.plan, recipe.calibrating, target, progress)
    bare = network.program
    # After the conversion, which is measured and calibrated on the network's own tensors.
    for name, camera in recipe.cameras.items():
        source = attach(source, camera, name)
        network = replace(network, program=attach(network.program, camera, name))
    if head:
        source = heads.with_head(source, head)
        network = replace(network, program=heads.with_head(network.program, head))
    return Loaded(recipe, path, target, source, network, bare)


def _check_weights(source: Program, path: Path) -> None:
    """ImportModelError if weights are not finite. Other constants may be infinite, as in masks."""
    for op in source.ops:
        for index, name in enumerate(op.inputs):
            port = op.schema.inputs[min(index, len(op.schema.inputs) - 1)]
            data = source.vars[name].data if name else None
            if data is None or data.dtype.kind != "f" or not (port.constant or op.schema.macs):
                continue
            if count := np.count_nonzero(~np.isfinite(data)):
                raise ImportModelError(
                    f"{count:,} of {data.size:,} weights of {op.type} {op.name!r} are NaN or "
                    "infinite",
                    where=f"{path}: constant {name!r}",
                    hint="its training diverged, or the file is damaged: export it again",
                )
