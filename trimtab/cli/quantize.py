"""Makes int8 networks."""

from __future__ import annotations

from typing import Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    CALIBRATION,
    INPUT_HELP,
    defaults_of,
    help_of,
    parse_calibration,
    parse_inputs,
    with_options,
)

GROUP = "Build"


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network, of float32",
        "output": "the .ttm file to write",
        **help_of(CALIBRATION),
        "input": INPUT_HELP,
        "json": "machine-readable",
    },
)
@with_options(defaults_of(CALIBRATION))
@needs_engine
def quantize(
    c: Context,
    model: str,
    output: str,
    input: list[str],
    json: bool = False,
    **given: Any,
) -> None:
    """Make an int8 network of a float32 one, and say how well it does on samples held out."""
    from json import dumps
    from pathlib import Path

    from trimtab.cli._progress import shown
    from trimtab.pipeline import quantized_file
    from trimtab.pipeline.recipe import Recipe

    recipe = Recipe(model=model, shapes=parse_inputs(input), calibration=parse_calibration(given))
    result = quantized_file.quantize(recipe, Path(output), shown(quiet=json))
    if json:
        print(dumps(result.to_json(), indent=2))
        return
    print(result.table().text())
    print(f"written: {output} ({result.file_bytes:,} bytes)")
