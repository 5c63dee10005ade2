"""The checks of a build or a run: its files, its signature, and its bytes built once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trimtab import files
from trimtab.errors import VerificationError
from trimtab.paths import PROGRAM
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table
from trimtab.verification import signature, statement
from trimtab.verification.difference import first_difference
from trimtab.verification.rebuild import RecordedBuild, rebuilt, tools_differ


@dataclass(frozen=True)
class RebuildOutcome:
    """`table`: the SHA-256 of each file in the record and of the new build; `difference`: the first
    file that differs, and where, "" if all are equal but those of `debug/`, which name folders of
    the machine; `tools`: how the tools of the two builds differ, "" if they do not.
    """

    table: Table
    difference: str
    tools: str


def recorded_build(target: Path) -> RecordedBuild:
    """The facts of a build in the record of a folder or of a run; ResultError without a recipe.

    VerificationError if a file of the folder is not that of the record.
    """
    if not target.is_dir():
        return RecordedBuild.of_run(target)
    recorded = RecordedBuild.of_folder(target)
    if changed := recorded.changed():
        raise VerificationError(
            f"{changed[0]} is not the file that was built",
            where=str(target),
            hint="it was changed or replaced after the build: build again",
        )
    return recorded


def check_signature(
    target: Path, signers: Path | None = None, reports: tuple[Path, ...] = ()
) -> str:
    """The signer of the statement about a folder or a run, as a sentence.

    `signers`: as of `signature.verified`; `reports`: files that the statement must be about, too.
    VerificationError if the statement does not hold, or is missing although one of them is given.
    """
    place = statement.place(target)
    if not place.exists():
        if signers or reports:
            raise VerificationError(
                "there is no signed statement",
                where=str(place),
                hint=f"{PROGRAM} verify --sign KEY writes one",
            )
        return f"Nobody has signed it: {place} does not exist."
    claims, signer = signature.verified(place, signers)
    present = statement.present(target, reports)
    statement.check(claims, present, place)
    return f"Signed with {signer}: all {len(present)} files are those of the statement."


def compare(
    recorded: RecordedBuild, model: str = "", progress: Progress = SILENT
) -> RebuildOutcome:
    """Builds once more, and compares with the record; errors of `rebuilt`. `model`: where the model
    lies now.
    """
    with rebuilt(recorded, model, progress) as (delivered, present):
        table = _table(recorded, present)
        names = [str(row[0]) for row in table.rows if row[3] != "same"]
        differing = [name for name in names if not name.startswith("debug/")]
        difference = differing[0] if differing else ""
        if differing and recorded.folder and difference in present:
            place = first_difference(recorded.folder / difference, present[difference])
            difference = f"{difference}: {place}"
        return RebuildOutcome(table, difference, tools_differ(recorded, delivered))


def _table(recorded: RecordedBuild, present: Mapping[str, Path]) -> Table:
    rows = []
    for name, digest in recorded.digests.items():
        rebuilt = files.sha256(present[name]) if name in present else ""
        rows.append((name, digest[:16], rebuilt[:16], "same" if rebuilt == digest else "differs"))
    return Table([Column("file"), Column("SHA-256"), Column("rebuilt"), Column("bytes")], rows)
