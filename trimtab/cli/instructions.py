"""Executed instructions under QEMU: exact at any load of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, command, group, option
from trimtab.cli._options import (
    ACCURACY_HELP,
    PRECISION_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    VIEW_HELP,
    WEIGHTS_HELP,
    PrecisionOptions,
    RecipeOptions,
)
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.pipeline.recipe import Recipe

GROUP = "Measure"
NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class InstructionsOptions:
    """Options of `bench.instructions`."""

    model: str = argument("model file or zoo network")
    input: tuple[str, ...] = option(VIEW_HELP, ())
    cpu: str = option(
        f"core to build for (docs/cores.md); a qemu device ({PROGRAM} device) must emulate it",
        "cortex-a53",
    )
    plan: str = option(
        f"plan file with algorithms and kernels ({PROGRAM} inspect --plan writes one)"
    )
    prefer: str = option(PREFER_HELP)
    weights: str = option(WEIGHTS_HELP)
    accuracy: str = option(ACCURACY_HELP)
    precision: str = option(PRECISION_HELP)
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)
    calibration: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """UsageError for invalid values; ImportModelError for a model that is missing."""
        from dataclasses import replace

        from trimtab import cores
        from trimtab.pipeline import resolve

        recipe = self.recipe()
        cores.find(recipe.cpu)
        resolve.check(replace(recipe, cpu=""))

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for invalid values."""
        from trimtab.pipeline.resolve import read_plan

        plan = read_plan(
            self.plan,
            prefer=self.prefer,
            weights=self.weights,
            accuracy=self.accuracy,
            precision=self.precision,
        )
        return RecipeOptions.of(self).read(plan, self.calibration.read(), cameras=False)


@command(InstructionsOptions, engine=True)
def instructions(options: InstructionsOptions) -> None:
    """Count executed instructions: per inference, per operator, of loading and first inference."""
    from trimtab.cli._progress import shown
    from trimtab.pipeline.instructions import count_instructions
    from trimtab.results.folder import results_folder

    folder, progress = results_folder(options.results), shown(quiet=options.json)
    counts = count_instructions(options.recipe(), folder, progress)
    print(counts.to_json() if options.json else counts.table().text())
