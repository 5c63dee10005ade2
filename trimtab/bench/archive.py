"""The archive of measured binaries, which makes a run repeatable.

A record holds only hashes of the binary and the model, and the next build replaces both files. A
store therefore archives the newest ones, in one folder per binary: the binary, the model, and the
expected output. Archived files are hard links where the file system allows them: builds replace
files and never modify them.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab import array_files, files, strict_json
from trimtab.accuracy import Accuracy, Search
from trimtab.bench.golden import Golden, RoundingLoss
from trimtab.bench.jobs import Subject
from trimtab.errors import ResultError
from trimtab.results.footprint import Footprint
from trimtab.results.records import Record

LIMIT = 30  # folders; a comparison adds two
_FACTS, _ARRAYS = "subject.json", "golden.npz"
_LOST_HINT = f"the archive holds the newest {LIMIT}; build again, and name the model instead"


def store(subject: Subject, expected: Golden, folder: Path, limit: int = LIMIT) -> Subject:
    """Archives a subject in the store `folder`, and returns it with the archived files.

    Removes the oldest entries beyond `limit`. Raises ResultError if the store cannot be written or
    the files cannot be read.
    """
    with files.access(folder, error=ResultError, hint="free some space: the store is in the cache"):
        entry = folder_of(files.sha256(subject.binary), files.sha256(subject.model), folder)
        archived = replace(
            subject, binary=entry / subject.binary.name, model=entry / subject.model.name
        )
        if entry.is_dir():
            os.utime(entry)
            return archived
        with files.replacing_folder(entry, error=ResultError) as fresh:
            for path in (subject.binary, subject.model):
                _link(path, fresh / path.name)
            arrays: dict[str, Any] = {f"in{i}": array for i, array in enumerate(expected.inputs)}
            arrays |= {f"out{i}": array for i, array in enumerate(expected.outputs)}
            arrays |= {f"other{i}": array for i, array in enumerate(expected.others)}
            np.savez(fresh / _ARRAYS, **arrays)
            facts = asdict(subject) | {
                "binary": subject.binary.name,
                "model": subject.model.name,
                "golden": {
                    "output_names": list(expected.output_names),
                    "oracle": expected.oracle,
                    "tolerance": expected.tolerance,
                    "precision": expected.precision,
                    "scales": list(expected.scales),
                    "rounding": [asdict(one) for one in expected.rounding],
                },
            }
            files.write_text(fresh / _FACTS, strict_json.dumps(facts), error=ResultError)
        trim(folder, limit)
    return archived


def trim(folder: Path, limit: int) -> None:
    """Removes the oldest entries of a store beyond `limit`."""
    if folder.is_dir():
        for old in sorted(_entries(folder), key=lambda path: path.stat().st_mtime)[:-limit]:
            shutil.rmtree(old, ignore_errors=True)


def of_run(record: Record, store: Path) -> tuple[Subject, Golden]:
    """The subject of a run and its expected output. Raises ResultError if they are damaged or
    missing.
    """
    return read(record.header.binary.sha256, record.header.model.sha256, store)


def read(binary_sha256: str, model_sha256: str, store: Path) -> tuple[Subject, Golden]:
    """The archived subject with these hashes and its expected output; errors as in `of_run`."""
    folder = folder_of(binary_sha256, model_sha256, store)
    try:
        facts: dict[str, Any] = strict_json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        about = facts.pop("golden")
        if "steps" in about:  # the key in archives of earlier versions
            about["scales"] = about.pop("steps")
        about["rounding"] = [RoundingLoss(**one) for one in about.get("rounding", ())]
        facts["binary"], facts["model"] = folder / facts["binary"], folder / facts["model"]
        facts["shipped"] = tuple(Footprint(**values) for values in facts["shipped"])
        for key, kind in (("accuracy", Accuracy), ("search", Search)):
            facts[key] = kind.of(facts[key]) if facts[key] else None
        subject = Subject(**facts)
        arrays = array_files.read_archive(folder / _ARRAYS, error=ResultError, hint=_LOST_HINT)
        inputs = [arrays[f"in{i}"] for i in range(sum(n.startswith("in") for n in arrays))]
        outputs = [arrays[f"out{i}"] for i in range(len(about["output_names"]))]
        others = [arrays[f"other{i}"] for i in range(sum(n.startswith("other") for n in arrays))]
        golden = Golden(inputs, outputs, **about, others=others)
        hashes = (files.sha256(subject.binary), files.sha256(subject.model))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(
            "the measured binary is no longer archived",
            where=str(folder),
            hint=_LOST_HINT,
        ) from error
    if hashes != (binary_sha256, model_sha256):
        raise ResultError(
            "the archived binary or model is damaged", where=str(folder), hint="remove it"
        )
    return subject, golden


def folder_of(binary_sha256: str, model_sha256: str, store: Path) -> Path:
    """The folder that archives a binary and a model, whether it exists or not."""
    return store / f"{binary_sha256[:20]}-{model_sha256[:20]}"


def _link(path: Path, to: Path) -> None:
    try:
        os.link(path, to)
    except OSError:
        shutil.copy2(path, to)


def _entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
