"""The parts of docs/coverage.md: operators of each format, and files of published packages."""

from __future__ import annotations

from collections.abc import Sequence

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.formats import operators
from lab.formats.measure import FORMATS, FormatsRow, tables
from lab.formats.worker import MATCHES, NOT_RUN
from trimtab.tables import Column, Page, Table


@reference("Files of published packages")
def published_files() -> Page:
    """Files of published packages that match their own runtime."""
    if not FORMATS.is_measured():
        return ["Not measured yet: `./inv formats --fetch --update`."]
    rows = FORMATS.rows()
    packages = sorted({row.package for row in rows})
    run = [row for row in rows if row.status != NOT_RUN]
    return [
        made_by(FORMATS.name),
        f"{_share(rows)} of {len(packages)} packages match; {_share(run)} that their own "
        "runtime runs.",
        *tables(rows),
        f"The packages: {', '.join(packages)}.",
        *committed.read(FORMATS.name).notes,
    ]


def _share(rows: Sequence[FormatsRow]) -> str:
    """The number of files that match, and their share."""
    matching = sum(row.status == MATCHES for row in rows)
    return f"{matching} of {len(rows)} files ({matching / len(rows):.1%})"


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
