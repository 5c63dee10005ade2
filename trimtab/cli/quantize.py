"""Makes int8 networks."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import INPUT_HELP, parse_inputs


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network, of float32",
        "output": "the .ttm file to write",
        "calibration": "samples: an .npz file with arrays by input, or a folder of pictures",
        "method": "how ranges are chosen: a module of trimtab/quantise/methods",
        "ranges": "a file of ranges: read, if there is one, else written",
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

    shapes, progress = parse_inputs(input), shown(quiet=json)
    made = workflow.quantize(model, Path(output), shapes, calibration, method, ranges, progress)
    if json:
        print(dumps(made.to_json(), indent=2))
        return
    print(made.table().text())
    print(f"written: {output} ({made.file_bytes:,} bytes)")
