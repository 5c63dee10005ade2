"""Checks that the figures of pages follow from the committed results."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "lab"


@dataclass(frozen=True, kw_only=True)
class LabOptions:
    """Options of `lab.verify`."""

    json: bool = option("print JSON", False)


@command(LabOptions, engine=True)
def verify(options: LabOptions) -> None:
    """Recompute every generated table of the pages from the committed results, and compare."""
    from lab import committed
    from lab.verification import evidence
    from trimtab.errors import VerificationError

    table = evidence.table([*committed.names()])
    print(table.json() if options.json else table.text())
    if different := evidence.difference():
        raise VerificationError(
            f"a page does not follow from the committed results: {different}",
            hint="./inv docs writes it from them; git log tells which of both was changed",
        )
    if not options.json:
        print("\nEvery generated line of the pages follows from these results.")
