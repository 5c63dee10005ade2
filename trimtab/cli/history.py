"""Figures over commits."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"


@task(
    auto_shortflags=False,
    help={
        "sweep": "only cells of the sweep of this name",
        "of": "whose commits: project (the repository that the sweep's file lies in), or trimtab",
        "check": "fail when the newest commit is worse than the one before: exactly, or measured "
        "in turns",
        "baseline": "check against this commit instead (its first digits)",
        "tolerance": "allow the newest to be worse by this share, such as 0.01",
        "launches": "of each side that --check measures in turns; default 20",
        "results": RESULTS_HELP,
        "json": "print JSON",
    },
)
@needs_engine
def history(
    _: Context,
    sweep: str = "",
    of: str = "project",
    check: bool = False,
    baseline: str = "",
    tolerance: float = 0.0,
    launches: int = 20,
    results: str = "",
    json: bool = False,
) -> None:
    """Show the cells of sweeps over commits, with the steps in their figures."""
    from json import dumps

    from trimtab.cli._progress import shown
    from trimtab.errors import RegressionError, ResultError, UsageError
    from trimtab.results import index
    from trimtab.results.folder import results_folder
    from trimtab.sweep import cell_log
    from trimtab.sweep import history as histories
    from trimtab.sweep import regressions as workflow

    if of not in histories.REPOSITORIES:
        raise UsageError(f"--of {of!r} is neither project nor trimtab")
    if tolerance < 0:
        raise UsageError(f"tolerance is {tolerance}, it must be at least 0")
    folder, progress = results_folder(results), shown(quiet=json)
    found = histories.series(index.entries(folder), cell_log.read_all(folder), of, sweep)
    if not found:
        raise UsageError(
            f"no sweep{f' {sweep!r}' * bool(sweep)} tells its commit of the {of}",
            where=str(folder),
            hint="./inv sweep FILE, where FILE lies in a Git repository",
        )
    checked = []
    if check:
        checked = workflow.check(
            found,
            folder,
            baseline=baseline,
            tolerance=tolerance,
            launches=launches,
            progress=progress,
        )
    if json:
        verdicts = workflow.table(checked).records()
        print(dumps({"series": histories.to_json(found), "check": verdicts}, indent=1))
    elif check and not checked:
        print("one commit alone: there is nothing to hold it against yet")
    else:
        print((workflow.table(checked) if check else histories.table(found)).text())
    if worse := [one for one in checked if one.is_worse]:
        raise RegressionError(
            f"{len(worse)} of {len(checked)} figures are worse; the first: "
            f"{worse[0].series.figure} of {worse[0].series.name}, {worse[0].ratio:.4f}x",
            hint="allow it with --tolerance, or begin anew with --baseline COMMIT",
        )
    if untold := [one for one in checked if one.ratio is None]:
        raise ResultError(
            f"{len(untold)} of {len(checked)} figures could not be checked: {untold[0].note}",
            hint="keep the cache between jobs (docs/ci.md), or compare counts under an emulator",
        )
