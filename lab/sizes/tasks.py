"""Measures the size of trimmed runners and model files."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class SizesOptions:
    """Options of `bench.sizes`."""

    network: tuple[str, ...] = option(
        "zoo network, a profile of all operators (`full`, `float32`), or `nv12_to_boxes`, a "
        "detector behind a camera (repeatable; default: all)",
        (),
    )
    cpu: tuple[str, ...] = option("only targets with this core (repeatable; default: all)", ())
    json: bool = option("print JSON", False)
    code: bool = option(
        "instead: code bytes of each operator and kernel, the input of the cost model", False
    )
    check: bool = option("fail when a figure is more than 2 % above the committed one", False)
    update: bool = option(
        "write the figures to lab/sizes/; those of a selection replace only its own", False
    )


@command(SizesOptions, engine=True)
def sizes(options: SizesOptions) -> None:
    """Measure the size of trimmed runners and model files of the zoo, for several targets."""
    from lab import committed
    from lab.sizes import figures
    from lab.sizes.measure import measure_code, measure_runners
    from trimtab import zoo
    from trimtab.cli._progress import shown

    progress = shown(quiet=options.json)
    if options.code:
        code_sizes = measure_code(progress)
        table = figures.code_table(code_sizes)
        print(table.json() if options.json else table.text())
        if options.update:
            figures.commit_code(code_sizes)
        if options.check:
            figures.check_code(code_sizes)
        return
    names = options.network or [*zoo.names(), *figures.PROFILES, figures.DETECTOR]
    runners = measure_runners(names, options.cpu, progress)
    table = figures.table(runners)
    print(table.json() if options.json else table.text())
    results = figures.to_results(runners, "./inv bench.sizes --update")
    if options.update and (options.network or options.cpu):
        results = figures.BASELINE.merged(results)
    committed.hold(figures.BASELINE, results, options.check, options.update, progress)
