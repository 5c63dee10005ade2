"""How far apart equal binaries may seem on a device."""

from __future__ import annotations

from typing import Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    CONTROL,
    RESULTS_HELP,
    defaults_of,
    help_of,
    parse_control,
    with_options,
)

GROUP = "Measure"


@task(
    positional=["device"],
    auto_shortflags=False,
    optional=["wait"],
    help={
        "device": "which (./inv devices)",
        "model": "model file or zoo network to do it with; default: shufflenet_v2",
        "launches": "of each side; default 40",
        "threads": "threads of the runner",
        "duet": "for comparisons with --duet: both sides at the same moment",
        "trust-new": "pin the host key of a device that was never seen",
        "results": RESULTS_HELP,
        "json": "print JSON",
        **help_of(CONTROL),
    },
)
@with_options(defaults_of(CONTROL))
@needs_engine
def calibrate(
    _: Context,
    device: str,
    model: str = "",
    launches: int = 40,
    threads: int = 1,
    duet: bool = False,
    trust_new: bool = False,
    results: str = "",
    json: bool = False,
    **control: Any,
) -> None:
    """Measure A against A and keep the device's noise floor, which a real difference exceeds."""
    from dataclasses import asdict
    from json import dumps

    from trimtab.bench.jobs import Settings
    from trimtab.cli._progress import shown
    from trimtab.compare import ab
    from trimtab.compare.arms import Side
    from trimtab.pipeline.recipe import Recipe
    from trimtab.results.folder import results_folder

    model = model or ab.FLOOR_MODEL
    side = Side(model, Recipe(model=model), threads)
    settings = Settings(control=parse_control(control))
    request = ab.AbRequest(
        side, side, device, launches, duet, trust_new=trust_new, settings=settings
    )
    floor = ab.calibrate(request, results_folder(results), shown(quiet=json))
    if json:
        print(dumps(asdict(floor), indent=1))
    else:
        low, high = floor.interval
        print(f"noise floor of {device}: {floor.share:.2%}")
        print(f"A against A: {floor.ratio:.4f}x ({low:.4f} .. {high:.4f}), ", end="")
        print(f"{floor.launches} launches a side, {floor.measured}")
        print(f"it holds for {floor.control}")
