"""Cards: a page that shows what networks cost on boards, in each precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, group, option
from trimtab.cli._options import (
    INPUT_HELP,
    RESULTS_HELP,
    TRUST_HELP,
    CalibrationOptions,
    ControlOptions,
    parse_inputs,
)

if TYPE_CHECKING:
    from trimtab.pipeline.recipe import Recipe
    from trimtab.progress import Progress
    from trimtab.reports.card import CardEntry

GROUP = "Measure"
_PRECISIONS = ("f32", "f16", "int8")


@dataclass(frozen=True, kw_only=True)
class CardOptions:
    """Options of `card`."""

    model: tuple[str, ...] = option("model file or zoo network (repeatable)", ())
    device: tuple[str, ...] = option("device to measure on (repeatable); default: local", ())
    precision: tuple[str, ...] = option(
        f"precision to measure (repeatable); default: {', '.join(_PRECISIONS)}", ()
    )
    input: tuple[str, ...] = option(INPUT_HELP, ())
    threads: int | None = option("threads of the runner; default 1", None)
    launches: int | None = option("launches of the runner; default 10, emulated 1", None)
    runs: int | None = option(
        "minimum of steady-state runs in all launches; default 30, emulated 2", None
    )
    min_time_ms: int | None = option(
        "minimum duration of the steady state in all launches; default 5000, emulated 0", None
    )
    energy: bool = option(
        "joules per inference, if the device measures power (takes 20 s more each)", False
    )
    trust_new: bool = option(TRUST_HELP, False)
    control: ControlOptions = group(ControlOptions)
    samples: CalibrationOptions = group(CalibrationOptions)
    results: str = option(RESULTS_HELP)
    format: str = option("form of the card: terminal, markdown, html or json", "terminal")
    output: str = option("file to write instead of printing")

    def recipes(self) -> Iterator[tuple[str, str, str, Recipe]]:
        """A recipe per network, device and precision, behind these three names."""
        from pathlib import Path

        from trimtab.bench.jobs import Settings
        from trimtab.pipeline.recipe import MeasurementRequest, Recipe
        from trimtab.pipeline.resolve import read_plan
        from trimtab.results.folder import results_folder

        settings = Settings(
            launches=self.launches,
            runs=self.runs,
            min_time_ms=self.min_time_ms,
            energy=self.energy,
            control=self.control.read(),
        )
        for model in self.model:
            for device in self.device or ("local",):
                for precision in self.precision or _PRECISIONS:
                    recipe = Recipe(
                        model=model,
                        shapes=parse_inputs(self.input),
                        plan=read_plan("", precision=precision, threads=self.threads),
                        calibration=self.samples.read().for_precision(precision),
                        measurement=MeasurementRequest(
                            device, settings, results_folder(self.results), self.trust_new
                        ),
                    )
                    yield Path(model).stem, device, precision, recipe


@command(CardOptions, engine=True, short_options=False)
def card(options: CardOptions) -> None:
    """Measure networks on boards in each precision, and show size, time, memory and accuracy."""
    from trimtab.cli._progress import shown
    from trimtab.cli.report import show
    from trimtab.errors import DeviceError, UsageError
    from trimtab.reports import card as cards

    cards.check_form(options.format)
    if not options.model:
        raise UsageError("a card is of a network: which?", hint="--model net.onnx --device NAME")
    progress = shown(quiet=options.format == "json" and not options.output)
    recipes = [*options.recipes()]  # before any measurement: all options are valid
    entries = []
    for network, device, precision, recipe in recipes:
        with progress.step(f"{network} in {precision} on {device}"):
            entries.append(_measured(network, device, precision, recipe, progress))
    show(cards.render(entries, options.format), options.output)
    if not any(entry.is_measured for entry in entries):
        raise DeviceError(
            f"nothing could be measured; the first reason: {entries[0].reason}",
            hint="the card has the reason of each precision",
        )


def _measured(
    network: str, device: str, precision: str, recipe: Recipe, progress: Progress
) -> CardEntry:
    """The entry of one precision; a network or device that refuses it is the reason."""
    from trimtab.errors import TrimtabError
    from trimtab.pipeline.measured import bench
    from trimtab.reports.card import CardEntry
    from trimtab.results import records
    from trimtab.results.summary import summarize

    try:
        outcome = bench(recipe, progress).outcome
    except TrimtabError as error:
        progress.note(f"not measured: {error}")
        return CardEntry(network, device, precision, None, error.what)
    reason = outcome.error.what if outcome.error else ""
    return CardEntry(network, device, precision, summarize(records.read(outcome.path)), reason)
