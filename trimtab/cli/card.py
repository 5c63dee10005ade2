"""Cards: a page that shows what networks cost on boards, in each precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from trimtab.cli._command import command, group, option
from trimtab.cli._options import (
    CAMERA_HELP,
    HEAD_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    TRUST_HELP,
    ControlOptions,
    PrecisionOptions,
    RecipeOptions,
    format_of,
)
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.pipeline.recipe import Recipe

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
    weights: tuple[str, ...] = option(
        "form of stored weights to measure (repeatable): f32, the default, f16, int8, bits6 to "
        "bits3, or auto, which takes --budget; other precisions than f32 and f16 have one form",
        (),
    )
    prefer: str = option(PREFER_HELP)
    input: tuple[str, ...] = option(CAMERA_HELP, ())
    head: str = option(HEAD_HELP)
    labels: str = option(
        "folder of labeled pictures: top-1 of FOLDER/CLASS/picture, or mAP with a text file of "
        "boxes beside each picture (docs/tasks.md#card)"
    )
    peers: tuple[str, ...] = option(
        "file of other engines' figures, from bench.peers --device NAME --json (repeatable)", ()
    )
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
    samples: PrecisionOptions = group(PrecisionOptions)
    results: str = option(RESULTS_HELP)
    format: str = option(
        "form of the card: terminal, markdown, html or json; default: by the suffix of --output"
    )
    output: str = option("file to write instead of printing")

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError for a form or a file that cannot be written."""
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve
        from trimtab.reports.rendering import check_output

        if not self.model:
            raise UsageError("a card is of a network: which?", hint=f"{PROGRAM} card net.onnx")
        self.form()
        check_output(self.output)
        for recipe in self.recipes():
            resolve.check(recipe, needs_samples=False)  # a row says that they are missing

    def form(self) -> str:
        """The form of the card; UsageError for one that does not exist."""
        from trimtab.reports import card as cards

        suffixes = {".txt": "terminal", ".md": "markdown", ".html": "html", ".json": "json"}
        form = format_of(self.format, self.output, suffixes, "terminal")
        cards.check_form(form)
        return form

    def recipes(self) -> Iterator[Recipe]:
        """A recipe for each network, device, precision and form of stored weights."""
        from dataclasses import replace

        from trimtab.bench.jobs import Settings
        from trimtab.pipeline.card import with_operators
        from trimtab.pipeline.recipe import MeasurementRequest
        from trimtab.pipeline.resolve import read_plan
        from trimtab.results.folder import results_folder

        settings = Settings(
            launches=self.launches,
            runs=self.runs,
            min_time_ms=self.min_time_ms,
            energy=self.energy,
            control=self.control.read(),
        )
        results = results_folder(self.results)
        plans = [
            read_plan(
                "",
                prefer=self.prefer,
                weights=weights,
                precision=precision,
                threads=self.threads,
            )
            for precision in self.precision or _PRECISIONS
            for weights in (self.weights if precision in ("f32", "f16") else ()) or ("",)
        ]
        for model, device, plan in product(self.model, self.device or ("local",), plans):
            recipe = RecipeOptions.of(self, model=model).read(plan, self.samples.read())
            measurement = MeasurementRequest(device, settings, results, self.trust_new)
            calibration = recipe.calibration.for_plan(plan)
            recipe = replace(recipe, calibration=calibration, measurement=measurement)
            yield with_operators(recipe)


@command(CardOptions, engine=True, short_options=False)
def card(options: CardOptions) -> None:
    """Measure networks in each precision and form of weights: size, time, memory, accuracy."""
    from pathlib import Path

    from trimtab import labels
    from trimtab.cli._progress import shown
    from trimtab.cli.report import show
    from trimtab.errors import DeviceError
    from trimtab.pipeline.card import entry, view_of
    from trimtab.reports import card as cards
    from trimtab.results import peer_figures

    form = options.form()
    peers = [peer for path in options.peers for peer in peer_figures.read(Path(path))]
    recipes = [*options.recipes()]
    folder = labels.read(Path(options.labels)) if options.labels else None
    if folder:
        view_of(recipes[0])
    progress = shown(quiet=form == "json" and not options.output)
    entries = []
    for recipe in recipes:
        with progress.step(f"{recipe.model} in {recipe.plan.precision}"):
            entries.append(entry(recipe, folder, progress))
    show(cards.render(cards.Card(entries, peers), form), options.output)
    if not any(one.is_measured for one in entries):
        raise DeviceError(
            f"nothing could be measured; the first reason: {entries[0].reason}",
            hint="the card has the reason of each precision",
        )
