"""What this machine lacks, and the command that installs it."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

GROUP = "Set up"


@task(help={"json": "as JSON on standard output"})
def doctor(_: Context, json: bool = False) -> None:
    """Say what is missing on this machine, and the command that installs it."""
    from trimtab import doctor as checks
    from trimtab import tables

    found = checks.examine()
    print(checks.as_json(found) if json else tables.text(checks.page(found)))
    checks.require(found)


@task
def setup(_: Context) -> None:
    """Install the distribution packages that `doctor` finds missing (as root, or with sudo)."""
    from trimtab import doctor as checks
    from trimtab.cli._progress import shown

    checks.install(checks.examine(), shown())
