"""The main job from end to end."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

GROUP = "Measure"


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of `demo`."""

    output: str = option("folder for records and reports (default: results/)")


@command(DemoOptions)
def demo(options: DemoOptions) -> None:
    """Do the main job on an embedded device: from a network to a measured ARM binary."""
    from trimtab import demo as main_job
    from trimtab.cli._progress import shown
    from trimtab.results.folder import results_folder

    print("\n" + main_job.demo(results_folder(options.output), shown()).text)
