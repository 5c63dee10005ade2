"""The operator of a network that goes wrong on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, group, option
from trimtab.cli._options import (
    TRUST_HELP,
    ControlOptions,
    PlanOptions,
    PrecisionOptions,
    RecipeOptions,
)
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab.pipeline.recipe import Recipe

GROUP = "Measure"


@dataclass(frozen=True, kw_only=True)
class DebugOptions:
    """Options of `debug`."""

    network: RecipeOptions = group(RecipeOptions)
    device: str = option(
        f"device to run on ({PROGRAM} device); default: local, or that of the case"
    )
    case: str = option(
        "folder that receives the first operator beyond its bound, with its operands; without "
        "--model: the folder of a case to repeat alone"
    )
    plan: PlanOptions = group(PlanOptions)
    output: str = option("also write a page with the curve of the error over depth: FILE.html")
    all: bool = option("also show the operators that are right", False)
    repeat: bool = option(
        "repeat the first operator beyond its bound alone, which tells whether its kernel is the "
        "cause (two small builds)",
        True,
    )
    json: bool = option("print JSON", False)
    trust_new: bool = option(TRUST_HELP, False)
    control: ControlOptions = group(ControlOptions)
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError without model and case, or for another page."""
        from trimtab.devices import find_device
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve
        from trimtab.reports.rendering import check_output

        if self.device:
            find_device(self.device)
        if self.output and not self.output.endswith(".html"):
            raise UsageError("the page is HTML", where=self.output, hint="--output page.html")
        check_output(self.output)
        if self.network.model or self.network.profile:
            resolve.check(self.recipe())
        elif not self.case:
            raise UsageError(
                "neither a model nor a case is named", hint="--model FILE, or --case FOLDER"
            )

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for invalid values."""
        from dataclasses import replace

        from trimtab.bench.jobs import Settings
        from trimtab.pipeline.recipe import MeasurementRequest

        # A network that is not finite is what `debug` is for.
        settings = Settings(accept_wrong=True, control=self.control.read())
        measurement = MeasurementRequest(self.device or "local", settings, trust_new=self.trust_new)
        recipe = self.network.read(self.plan.read(), self.precision.read())
        return replace(recipe, measurement=measurement)


@command(DebugOptions, engine=True, short_options=False)
def debug(options: DebugOptions) -> None:
    """Find the operator that goes wrong on a device, and why; or repeat one that did."""
    from pathlib import Path

    from trimtab import files
    from trimtab.cli._progress import shown
    from trimtab.debug import page
    from trimtab.debug.diagnosis import diagnose
    from trimtab.errors import DivergingOperatorError

    progress = shown(quiet=options.json)
    if not (options.network.model or options.network.profile):
        repeat_case(Path(options.case), options.device, as_json=options.json)
        return
    folder = Path(options.case) if options.case else None
    diagnosis = diagnose(options.recipe(), folder, progress, repeat=options.repeat)
    print(page.to_json(diagnosis) if options.json else page.to_text(diagnosis, whole=options.all))
    if options.output:
        files.write_text(Path(options.output), page.to_html(diagnosis))
    if diagnosis.cause:
        again = (
            f"; {PROGRAM} debug --case {folder} repeats it alone"
            if folder and diagnosis.first
            else ""
        )
        raise DivergingOperatorError(
            diagnosis.verdict,
            where=f"{diagnosis.network} on {diagnosis.device}",
            hint=f"docs/debugging.md#causes explains the cause {diagnosis.cause!r}{again}",
        )


def repeat_case(folder: Path, device: str = "", *, as_json: bool = False) -> None:
    """Repeats a saved operator alone, on its device or on another, and prints what is wrong.

    DivergingOperatorError if a result is beyond its bound; errors of the case and of the device.
    """
    from trimtab import strict_json
    from trimtab.cli._progress import shown
    from trimtab.debug.case import SavedCase
    from trimtab.devices import find_device
    from trimtab.errors import DivergingOperatorError

    case = SavedCase.read(folder)
    definition = find_device(device or case.device)
    progress = shown(quiet=as_json)
    kinds = {"the kernels of its plan": False, "the portable kernels": True}
    wrong = {
        kind: case.repeat(definition, progress, portable=portable)
        for kind, portable in kinds.items()
    }
    rows = [f"{kind}: {why or 'right'}" for kind, why in wrong.items()]
    facts = {"operator": case.operator, "device": definition.name, "wrong": wrong}
    print(strict_json.dumps(facts, indent=1) if as_json else "\n".join([case.operator, *rows]))
    if why := next(filter(None, wrong.values()), ""):
        raise DivergingOperatorError(
            why, where=f"{case.operator} on {definition.name}", hint="docs/debugging.md#causes"
        )
