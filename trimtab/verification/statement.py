"""Statements of in-toto (https://in-toto.io/Statement/v1) about builds and runs.

The subjects are files by name and SHA-256; the predicate says how they were made and measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trimtab import __version__, files, strict_json
from trimtab.build.output import RECORD
from trimtab.errors import VerificationError
from trimtab.paths import PROGRAM
from trimtab.results import records

SUFFIX = ".intoto.json"
_TYPE = "https://in-toto.io/Statement/v1"
_BUILD = "urn:trimtab:build:v1"
_RUN = "urn:trimtab:run:v1"
_FACTS = ("toolchain", "cpu", "compiler", "profile", "git", "made_from")


def place(target: Path) -> Path:
    """The file of the statement about a folder or a record: it lies beside it."""
    target = target.resolve()  # also of "."
    return target.with_name(target.name + SUFFIX)


def about(target: Path, reports: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The statement about a folder that `build` has made, or about the record of a run, and about
    reports of it.
    """
    return of_folder(target, reports) if target.is_dir() else of_run(target, reports)


def of_folder(folder: Path, reports: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The statement about a folder that `build` has made, by the files that it has now."""
    record: dict[str, Any] = strict_json.loads((folder / RECORD).read_text(encoding="utf-8"))
    digests = {name: files.sha256(folder / name) for name in (*record["files"], RECORD)}
    facts = {key: record.get(key) for key in _FACTS}
    return _statement(_BUILD, digests | _digests(reports), facts)


def of_run(path: Path, reports: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The statement about a run: its binary, its model, its raw record, and reports of it."""
    record = records.read(path)
    header = record.header
    digests = {
        header.binary.name: header.binary.sha256,
        header.model.name: header.model.sha256,
        path.name: files.sha256(path),
        **_digests(reports),
    }
    facts = {
        "status": record.status.value,
        "run_id": header.run_id,
        "time": header.time,
        "device": asdict(header.device),
        "control": dict(header.control),
        "protocol": dict(header.protocol),
        "made_from": dict(header.made_from),
    }
    return _statement(_RUN, digests, facts)


def check(statement: Mapping[str, Any], present: Mapping[str, str], where: Path) -> None:
    """VerificationError unless the statement has each of the `present` files, by name and SHA-256,
    among its subjects.
    """
    try:
        subjects = {row["name"]: row["digest"]["sha256"] for row in statement["subject"]}
    except (LookupError, TypeError):
        subjects = {}
    for name, digest in present.items():
        if name not in subjects:
            what = f"the statement is not about {name}"
        elif subjects[name] != digest:
            what = f"{name} is not the file that the statement is about"
        else:
            continue
        raise VerificationError(
            what,
            where=str(where),
            hint=f"its SHA-256 is {digest}; {PROGRAM} verify --sign KEY makes a new statement",
        )


def present(target: Path, reports: tuple[Path, ...] = ()) -> dict[str, str]:
    """The names and digests that a statement about a folder or a record must have, with those of
    these reports.
    """
    own = about(target, reports)
    return {row["name"]: row["digest"]["sha256"] for row in own["subject"]}


def _digests(reports: tuple[Path, ...]) -> dict[str, str]:
    return {path.name: files.sha256(path) for path in reports}


def _statement(kind: str, digests: Mapping[str, str], facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "_type": _TYPE,
        "subject": [{"name": name, "digest": {"sha256": d}} for name, d in digests.items()],
        "predicateType": kind,
        "predicate": {"trimtab": __version__, **facts},
    }
