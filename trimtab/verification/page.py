"""A page about a build or a run that was verified: who signed it, its files, and how they were
made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trimtab.reports import html_page
from trimtab.tables import Column, Table
from trimtab.verification import signature, statement


def to_html(target: Path, signed: str, rebuilt: Table | None, signers: Path | None) -> str:
    """The page. `signed`: the signer, in words; `rebuilt`: of a new build, None without one;
    `signers`: as of `signature.verified`.
    """
    place = statement.place(target)
    tables = [rebuilt] if rebuilt else []
    head = [signed, "The recipe gives these bytes." if rebuilt else "It was not built again."]
    if place.exists():
        claims, _ = signature.verified(place, signers)
        subjects = [(row["name"], row["digest"]["sha256"]) for row in claims["subject"]]
        tables.append(Table([Column("file"), Column("SHA-256")], subjects, "Signed files"))
        facts = [*_facts(claims["predicate"])]
        tables.append(Table([Column("fact"), Column("value")], facts, claims["predicateType"]))
    return html_page.page(f"{target.name}, verified", head, [], tables)


def _facts(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The values of nested facts, by their paths."""
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _facts(inner, f"{prefix}{key}.")
        elif inner not in (None, "", []):
            yield f"{prefix}{key}", str(inner)
