"""What was measured, kept to be measured again: binary, model, and what it must compute.

A record names a binary and a model by their hashes; after the next build nobody has those bytes any
more. The newest few are kept in a folder each. Files are links to the measured ones where the file
system allows it, as those are never changed but replaced.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab import files
from trimtab.accuracy import Accuracy, Search
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Subject
from trimtab.errors import ResultError
from trimtab.results.footprint import Footprint
from trimtab.results.records import Record

MOST = 30  # folders: a comparison leaves two
_FACTS, _ARRAYS = "subject.json", "golden.npz"


def keep(subject: Subject, expected: Golden, store: Path, most: int = MOST) -> Subject:
    """The subject with its files in `store`; what has been there longest goes, beyond `most`.

    Raises ResultError when the store cannot be written or the files not be read.
    """
    with files.access(store, error=ResultError, hint="free some space: the store is in the cache"):
        folder = folder_of(files.sha256(subject.binary), files.sha256(subject.model), store)
        kept = replace(
            subject, binary=folder / subject.binary.name, model=folder / subject.model.name
        )
        if folder.is_dir():
            os.utime(folder)
            return kept
        with files.replacing_folder(folder, error=ResultError) as fresh:
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
                    "steps": list(expected.steps),
                },
            }
            files.write_text(fresh / _FACTS, json.dumps(facts), error=ResultError)
        trim(store, most)
    return kept


def trim(store: Path, most: int) -> None:
    """Removes what has been there longest, beyond `most`."""
    if store.is_dir():
        for old in sorted(_folders(store), key=lambda path: path.stat().st_mtime)[:-most]:
            shutil.rmtree(old, ignore_errors=True)


def of_run(record: Record, store: Path) -> tuple[Subject, Golden]:
    """What a run measured. Raises ResultError when it is kept no more, or not intact."""
    return read(record.header.binary.sha256, record.header.model.sha256, store)


def read(binary_sha256: str, model_sha256: str, store: Path) -> tuple[Subject, Golden]:
    """What is kept under the hashes of a binary and a model; errors as `of_run`."""
    folder = folder_of(binary_sha256, model_sha256, store)
    try:
        facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        about = facts.pop("golden")
        facts["binary"], facts["model"] = folder / facts["binary"], folder / facts["model"]
        facts["shipped"] = tuple(Footprint(**way) for way in facts["shipped"])
        for key, kind in (("accuracy", Accuracy), ("search", Search)):
            facts[key] = kind.of(facts[key]) if facts[key] else None
        subject = Subject(**facts)
        with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
            inputs = [arrays[f"in{i}"] for i in range(sum(n.startswith("in") for n in arrays))]
            outputs = [arrays[f"out{i}"] for i in range(len(about["output_names"]))]
            others = [
                arrays[f"other{i}"] for i in range(sum(n.startswith("other") for n in arrays))
            ]
        golden = Golden(inputs, outputs, **about, others=others)
        found = (files.sha256(subject.binary), files.sha256(subject.model))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(
            "the binary that was measured is kept no more",
            where=str(folder),
            hint=f"the newest {MOST} are; build it again and name the model or the folder instead",
        ) from error
    if found != (binary_sha256, model_sha256):
        raise ResultError(
            "the kept binary or model is damaged", where=str(folder), hint="remove it"
        )
    return subject, golden


def folder_of(binary_sha256: str, model_sha256: str, store: Path) -> Path:
    """Where a binary and a model are kept, if they are."""
    return store / f"{binary_sha256[:20]}-{model_sha256[:20]}"


def _link(path: Path, to: Path) -> None:
    try:
        os.link(path, to)
    except OSError:
        shutil.copy2(path, to)


def _folders(store: Path) -> list[Path]:
    return [path for path in store.iterdir() if path.is_dir() and not path.name.startswith(".")]
