"""The parts of docs/coverage.md: operators of each format, and files of published packages."""

from __future__ import annotations

from collections.abc import Sequence

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.formats import operators
from lab.formats.measure import NAME, FileOutcome, counts
from lab.formats.worker import MATCHES, NOT_RUN, STATUSES
from trimtab.tables import Column, Page, Table, number


@reference("Files of published packages")
def published_files() -> Page:
    """Files of published packages that match their own runtime."""
    if not committed.path_of(NAME).exists():
        return ["Not measured yet: `./inv formats --fetch --update`."]
    results = committed.read(NAME)
    outcomes = [FileOutcome(**row) for row in results.rows]
    packages = sorted({outcome.package for outcome in outcomes})
    run = [outcome for outcome in outcomes if outcome.status != NOT_RUN]
    return [
        made_by(NAME),
        f"{_share(outcomes)} of {len(packages)} packages match; {_share(run)} that their own "
        "runtime runs.",
        *outcome_tables(outcomes),
        f"The packages: {', '.join(packages)}.",
        *results.notes,
    ]


def _share(outcomes: Sequence[FileOutcome]) -> str:
    """The number of files that match, and their share."""
    matching = sum(outcome.status == MATCHES for outcome in outcomes)
    return f"{matching} of {len(outcomes)} files ({matching / len(outcomes):.1%})"


def outcome_tables(outcomes: Sequence[FileOutcome]) -> list[Table]:
    """Numbers of files by status, and the files that do not match."""
    return [
        Table([Column("runtime"), *map(number, STATUSES)], counts(outcomes)),
        Table(
            [Column("file"), Column("of"), Column("status"), Column("reason")],
            [(o.file, o.package, o.status, o.reason) for o in outcomes if o.status != MATCHES],
        ),
    ]


@reference("Operators that are not supported")
def operators_of_formats() -> Page:
    """The operators of each format's own list that are not supported, with the reasons."""
    lists = operators.all_lists()
    shares = [
        f"{len(one.names) - len(one.refused())} of {len(one.names)} of {one.title}" for one in lists
    ]
    parts: list[str | Table] = [f"Supported operators: {', '.join(shares)}."]
    for listed in lists:
        refused = listed.refused()
        total = len(listed.names)
        parts += [
            f"### {listed.title}",
            f"{total - len(refused)} of {total} {listed.source} are supported.",
        ]
        if refused:
            rows = [
                (", ".join(f"`{n}`" for n in names), reason)
                for reason, names in refused_by(refused)
            ]
            parts.append(Table([Column("not supported"), Column("reason")], rows))
    return parts


def refused_by(refused: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Reasons with the names of their operators."""
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(reason, []).append(name)
    return [*reasons.items()]
