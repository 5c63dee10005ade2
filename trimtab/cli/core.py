"""Cores: what the planner knows about a machine, measured there."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, group, option
from trimtab.cli._options import RESULTS_HELP, TRUST_HELP, ControlOptions
from trimtab.paths import PROGRAM

GROUP = "Devices"
NAMESPACE = "core"


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of `core.fit`."""

    device: str = option(f"device ({PROGRAM} device); default: this machine", "local")
    cpu: str = option("the core (docs/cores.md); default: the device's own")
    toolchain: str = option("toolchain; default: the device's own")
    threads: int = option("threads to fit besides one; default: all cores", 0)
    share: float = option("share of the layers to time, e.g. 0.3 for a first look", 1.0)
    output: str = option("file of the row; default: NAME.toml in your own cores")
    results: str = option(RESULTS_HELP)
    trust_new: bool = option(TRUST_HELP, False)
    json: bool = option("print JSON", False)
    control: ControlOptions = group(ControlOptions)

    def validate(self) -> None:
        """UsageError for invalid values; errors of names and of the file that is written."""
        from pathlib import Path

        from trimtab import files
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve
        from trimtab.pipeline.recipe import MeasurementRequest, Recipe

        if not 0 < self.share <= 1:
            raise UsageError(f"share is {self.share}, it must be above 0 and at most 1")
        if self.threads < 0:
            raise UsageError(f"threads is {self.threads}, it must be at least 0")
        self.control.read()
        measured = MeasurementRequest(self.device)
        recipe = Recipe(toolchain=self.toolchain, cpu=self.cpu, measurement=measured)
        resolve.check(recipe, needs_model=False)
        if self.output:
            files.check_writable(Path(self.output))


@command(FitOptions, engine=True, short_options=False)
def fit(options: FitOptions) -> None:
    """Time every kernel of a device on seeded layers, and write the row of its core for plans."""
    from pathlib import Path

    from trimtab import files, paths
    from trimtab.cli._progress import shown
    from trimtab.fitting import report, row
    from trimtab.fitting.fit import FitRequest
    from trimtab.fitting.fit import fit as fit_core
    from trimtab.results.folder import results_folder

    request = FitRequest(
        device=options.device,
        cpu=options.cpu,
        toolchain=options.toolchain,
        threads=options.threads,
        share=options.share,
        control=options.control.read(),
        trust_new=options.trust_new,
        results=results_folder(options.results),
    )
    progress = shown(quiet=options.json)
    fitted = fit_core(request, progress)
    own = paths.config() / "cores" / f"{fitted.core.name}.toml"
    path = Path(options.output) if options.output else own
    files.write_text(path, row.to_toml(fitted.core, fitted.title))
    print(report.as_json(fitted, path) if options.json else report.text(fitted, path))
