"""The requirements that this machine lacks, and the command that installs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, option, task

if TYPE_CHECKING:
    from invoke.context import Context

GROUP = "Set up"


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Options of `doctor`."""

    json: bool = option("print JSON", False)


@command(DoctorOptions)
def doctor(options: DoctorOptions) -> None:
    """Show what is missing on this machine, and the command that installs it."""
    from trimtab import doctor as checks
    from trimtab import tables

    requirements = checks.examine()
    print(checks.as_json(requirements) if options.json else tables.text(checks.page(requirements)))
    checks.require(requirements)


@task
def setup(_: Context) -> None:
    """Install the distribution packages that `doctor` reports missing (as root, or with sudo)."""
    from trimtab import doctor as checks
    from trimtab.cli._progress import shown

    checks.install(checks.examine(), shown())
