"""Executed instructions under QEMU: exact at any load of the machine."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import argument, command, group, option
from trimtab.cli._options import (
    ACCURACY_HELP,
    INPUT_HELP,
    PRECISION_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    PrecisionOptions,
    parse_inputs,
)

GROUP = "Measure"
NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class InstructionsOptions:
    """Options of `bench.instructions`."""

    model: str = argument("model file or zoo network")
    input: tuple[str, ...] = option(INPUT_HELP, ())
    cpu: str = option(
        "core to build for (docs/cores.md); a qemu device (./inv device) must emulate it",
        "cortex-a53",
    )
    plan: str = option("plan file with algorithms and kernels (./inv inspect --plan writes one)")
    prefer: str = option(PREFER_HELP)
    weights: str = option("type of stored weights: f32, or f16, which is half the size")
    accuracy: str = option(ACCURACY_HELP)
    precision: str = option(PRECISION_HELP)
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)
    calibration: PrecisionOptions = group(PrecisionOptions)


@command(InstructionsOptions, engine=True)
def instructions(options: InstructionsOptions) -> None:
    """Count executed instructions: per inference, per operator, of loading and first inference."""
    from trimtab.cli._progress import shown
    from trimtab.pipeline.instructions import count_instructions
    from trimtab.pipeline.recipe import Recipe
    from trimtab.pipeline.resolve import read_plan
    from trimtab.results.folder import results_folder

    recipe = Recipe(
        model=options.model,
        cpu=options.cpu,
        shapes=parse_inputs(options.input),
        plan=read_plan(
            options.plan,
            prefer=options.prefer,
            weights=options.weights,
            accuracy=options.accuracy,
            precision=options.precision,
        ),
        calibration=options.calibration.read(),
    )
    folder, progress = results_folder(options.results), shown(quiet=options.json)
    counts = count_instructions(recipe, folder, progress)
    print(counts.to_json() if options.json else counts.table().text())
