"""Quantizes models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, command, group, option
from trimtab.cli._options import VIEW_HELP, PrecisionOptions, RecipeOptions

if TYPE_CHECKING:
    from trimtab.pipeline.recipe import Recipe

GROUP = "Build"


@dataclass(frozen=True, kw_only=True)
class QuantizeOptions:
    """Options of `quantize`."""

    model: str = argument("float32 model file or zoo network")
    output: str = argument("the .ttm file to write")
    input: tuple[str, ...] = option(VIEW_HELP, ())
    json: bool = option("print JSON", False)
    head: str = option(
        "count the boxes of this head (docs/boxes.md); the file keeps the network's raw outputs"
    )
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError without samples, and those of the output."""
        from pathlib import Path

        from trimtab.pipeline import quantized_file, resolve

        recipe = self.recipe()
        resolve.check(recipe, needs_samples=False)
        recipe.calibration.for_model(recipe.model).check()
        quantized_file.check_output(Path(self.output))

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for invalid shapes."""
        from trimtab.planner.plan_file import Plan

        return RecipeOptions.of(self).read(Plan(), self.precision.read(), cameras=False)


@command(QuantizeOptions, engine=True)
def quantize(options: QuantizeOptions) -> None:
    """Quantize a float32 network to int8, and measure its accuracy on held-out samples.

    With a budget, operators stay in float32 where it needs them.
    """
    from pathlib import Path

    from trimtab.cli._progress import shown
    from trimtab.pipeline import quantized_file
    from trimtab.strict_json import dumps

    progress = shown(quiet=options.json)
    result = quantized_file.quantize(options.recipe(), Path(options.output), progress)
    if options.json:
        print(dumps(result.to_json(), indent=2))
        return
    print(f"{result.quantized.verdict}\n\n{result.table().text()}")
    print(f"written: {options.output} ({result.file_bytes:,} bytes)")
