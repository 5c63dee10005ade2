"""The main job from end to end."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine

GROUP = "Measure"


@task(help={"output": "folder for records and reports (default: results/)"})
@needs_engine
def demo(_: Context, output: str = "") -> None:
    """Do the main job on an embedded default: from a network to a measured ARM binary."""
    from trimtab import demo as main_job
    from trimtab.cli._progress import shown
    from trimtab.results.folder import results_folder

    print("\n" + main_job.demo(results_folder(output), shown()).text)
