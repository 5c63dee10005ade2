"""Makes int8 networks."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import CALIBRATION_HELP, INPUT_HELP, parse_calibration, parse_inputs


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network, of float32",
        "output": "the .ttm file to write",
        **CALIBRATION_HELP,
        "input": INPUT_HELP,
        "json": "machine-readable",
    },
)
@needs_engine
def quantize(
    c: Context,
    model: str,
    output: str,
    input: list[str],
    calibration: str = "",
    method: str = "",
    ranges: str = "",
    json: bool = False,
) -> None:
    """Make an int8 network of a float32 one, and say how well it does on samples held out."""
    from json import dumps
    from pathlib import Path

    from trimtab.workflow import quantise as workflow
    from trimtab.workflow.progress import shown

    given = parse_calibration(calibration, method, ranges)
    progress = shown(quiet=json)
    made = workflow.quantize(model, Path(output), parse_inputs(input), given, progress)
    if json:
        print(dumps(made.to_json(), indent=2))
        return
    print(made.table().text())
    print(f"written: {output} ({made.file_bytes:,} bytes)")
