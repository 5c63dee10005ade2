"""Entries of a card: a network in one precision, measured on one device and on labeled pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.camera import Camera
from trimtab.errors import PlanError, TrimtabError, UsageError
from trimtab.labels import LabeledFolder, LabelScore, score
from trimtab.pipeline.loaded import Loaded
from trimtab.pipeline.measured import bench
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import WEIGHTS_TYPES
from trimtab.progress import SILENT, Progress
from trimtab.results import records
from trimtab.results.summary import OpCost, Summary, summarize

CONVERSION, NETWORK, DECODING = "camera conversion", "network", "decoding"


@dataclass(frozen=True)
class CardEntry:
    """A network in one precision, with one form of stored weights, on one device; without a `run`,
    the reason why.

    `parts`: the cost of an inference by part, in the unit of its operators; empty for a network
    without camera and head. `labels`: the accuracy on labeled pictures, None without them.
    """

    network: str
    device: str
    precision: str
    run: Summary | None
    reason: str = ""
    parts: tuple[tuple[str, OpCost], ...] = ()
    labels: LabelScore | None = None
    weights: str = WEIGHTS_TYPES[0]

    @property
    def computed(self) -> str:
        """The precision and the stored weights in words."""
        is_usual = self.weights == WEIGHTS_TYPES[0]
        return self.precision if is_usual else f"{self.precision}, {self.weights} weights"

    @property
    def is_measured(self) -> bool:
        """Whether there are figures: the run came to its end, with outputs right or not."""
        if self.run is None:
            return False
        return self.run.status.is_measured or self.run.status is records.Status.THROTTLED


def entry(recipe: Recipe, folder: LabeledFolder | None, progress: Progress = SILENT) -> CardEntry:
    """Builds and measures a recipe; a network or device that refuses it is the entry's reason."""
    assert recipe.measurement is not None, "a card measures"
    weights = recipe.plan.weights_type
    names = Path(recipe.model).stem, recipe.measurement.device, recipe.plan.precision
    try:
        measured = bench(recipe, progress)
        labels = _labels(measured.built.planned.loaded, folder, progress) if folder else None
    except TrimtabError as error:
        progress.note(f"not measured: {error}")
        return CardEntry(*names, None, error.what, weights=weights)
    outcome = measured.outcome
    run = summarize(records.read(outcome.path))
    parts = _parts(measured.built.planned.loaded, run.ops)
    reason = outcome.error.what if outcome.error else ""
    return CardEntry(*names, run, reason, parts, labels, weights)


def view_of(recipe: Recipe) -> Camera:
    """The preprocessing of labeled pictures: that of the recipe's camera. UsageError without it."""
    if len(recipe.cameras) != 1:
        raise UsageError(
            "labeled pictures need to know how a picture becomes the network's input",
            hint='--input "INPUT=camera(rgb, 640x480) | imagenet" (docs/camera.md); pictures may '
            "have any size",
        )
    return next(iter(recipe.cameras.values()))


def _labels(loaded: Loaded, folder: LabeledFolder, progress: Progress) -> LabelScore | None:
    """The accuracy on labeled pictures; None if this machine cannot compute the precision."""
    view, head, plan = view_of(loaded.recipe), loaded.recipe.head, loaded.network.plan
    with progress.step(f"labeled pictures of {folder.path.name}", "pictures") as step:
        try:
            return score(loaded.bare, view, head, folder, plan.numbers, step.update)
        except PlanError as error:
            progress.note(f"no accuracy on labeled pictures: {error.what}")
            return None


def _parts(loaded: Loaded, ops: Sequence[OpCost]) -> tuple[tuple[str, OpCost], ...]:
    """The sums of operators before the network, of the network, and behind it.

    A pass may fuse operators of two parts; they count for the part whose operator has the name.
    """
    bare = {op.name for op in loaded.bare.ops}
    whole = [op.name for op in loaded.network.program.ops]
    first = next((i for i, name in enumerate(whole) if name in bare), 0)
    camera = set(whole[:first])
    head = {name for name in whole[first:] if name not in bare}
    if not ops or not (camera or head):
        return ()
    costs = {CONVERSION: 0.0, NETWORK: 0.0, DECODING: 0.0}
    for op in ops:
        name = op.label.partition(" ")[2]
        part = CONVERSION if name in camera else DECODING if name in head else NETWORK
        costs[part] += op.cost
    is_timed = all(op.ns is not None for op in ops)
    return tuple(
        (part, OpCost(i, part, cost if is_timed else None, None if is_timed else cost))
        for i, (part, cost) in enumerate(costs.items())
        if part == NETWORK or cost
    )


def with_operators(recipe: Recipe) -> Recipe:
    """The recipe, measured operator by operator if a camera or a head has a part of the cost."""
    if recipe.measurement is None or not (recipe.cameras or recipe.head):
        return recipe
    settings = replace(recipe.measurement.settings, per_op=True)
    return replace(recipe, measurement=replace(recipe.measurement, settings=settings))
