"""Exports that are checked before they are written.

The files of another format are first written into a temporary folder. There this product reads them
back, and another runtime of the format runs them, if its Python package is installed. Only files
that compute what the network computes replace those at the path.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import array_files, exporters, files, importers, strict_json
from trimtab.bench import golden
from trimtab.bench.golden import Golden
from trimtab.errors import ExportModelError, TrimtabError, WrongOutputError
from trimtab.exporters import Exporter
from trimtab.pipeline import peer_process
from trimtab.pipeline.reference import host_output
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.session import Session

Array = NDArray[Any]

# Runtimes add in another order, and transform convolutions: ten times the tolerance of one order.
TOLERANCE = 10 * golden.TOLERANCE
_LIMIT_SECONDS = 600  # for a peer, which may take longer for its first run than for others
_HINT = "report it with the network; --no-check writes the file all the same"


@dataclass(frozen=True)
class Exported:
    """The files of an export. `readers`: who computed the network from them; `notes`: who could not
    run it, and why.
    """

    files: tuple[Path, ...]
    readers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def export(
    program: Program,
    path: Path,
    exporter: Exporter,
    *,
    check: bool = True,
    progress: Progress = SILENT,
) -> Exported:
    """Writes a program in the format of an exporter.

    ExportModelError if the format cannot express it, or if the files compute anything else; then
    none is written, and those that exist stay.
    """
    contents = exporters.contents(program, path, exporter)
    exported = Exported(tuple(contents))
    if check:
        with progress.step(f"check {path.name}"), tempfile.TemporaryDirectory() as folder:
            for file, data in contents.items():
                files.write_bytes(Path(folder) / file.name, data)
            copy = Path(folder) / next(iter(contents)).name
            exported = replace(exported, **_checked(program, copy, path, exporter))
    for file, data in contents.items():
        files.write_bytes(file, data)
    return exported


def _checked(program: Program, copy: Path, path: Path, exporter: Exporter) -> dict[str, Any]:
    """The readers and notes of `Exported`, for the files at `copy`, which will be at `path`."""
    expected = replace(host_output(program), oracle="the network before", tolerance=TOLERANCE)
    again, inputs, outputs = _read_back(program, copy, path, expected)
    _compare(expected, [again[name] for name in outputs], "trimtab", path)
    if importlib.util.find_spec(exporter.PEER) is None:
        return {"readers": ("trimtab",)}
    answer = _run_peer(exporter, copy, inputs, outputs, path)
    if answer.refusal:
        return {
            "readers": ("trimtab",),
            "notes": (f"{answer.peer} does not run it: {answer.refusal}",),
        }
    _compare(expected, answer.results, answer.peer, path)
    return {"readers": ("trimtab", answer.peer)}


@dataclass(frozen=True)
class _PeerAnswer:
    """The results of a peer, whose name is followed by its version, or why there are none."""

    peer: str
    refusal: str = ""
    results: tuple[Array, ...] = ()


def _read_back(
    program: Program, copy: Path, path: Path, expected: Golden
) -> tuple[dict[str, Array], dict[str, Array], list[str]]:
    """The results of the importer's network, and the inputs and outputs by their names in the file;
    ExportModelError if it has others, or is refused.
    """
    try:
        again = importers.load(copy, cache=False)
        counts = len(again.inputs), len(again.outputs)
        if counts != (len(program.inputs), len(program.outputs)):
            raise _wrong(f"it has {counts[0]} inputs and {counts[1]} outputs", "trimtab", path)
        inputs = dict(zip(again.inputs, expected.inputs, strict=True))
        return Session(again).run(inputs), inputs, list(again.outputs)
    except ExportModelError:
        raise
    except TrimtabError as error:
        raise _wrong(error.what, "trimtab", path) from error


def _compare(expected: Golden, results: Sequence[Array], reader: str, path: Path) -> None:
    """ExportModelError if a reader computes other outputs."""
    for i, (right, value) in enumerate(zip(expected.outputs, results, strict=True)):
        name = expected.output_names[i]
        if value.size != right.size:
            shapes = f"{list(value.shape)}, not {list(right.shape)}"
            raise _wrong(f"output {name} has the shape {shapes}", reader, path)
        try:
            raw = np.ascontiguousarray(value, right.dtype.newbyteorder("<")).tobytes()
            wrong = golden.compare(expected, i, raw).wrong
        except WrongOutputError as error:
            wrong = error.what
        # Where two elements are nearly equal, a rounding error selects the other index.
        is_index = right.dtype.kind in "iub" and _share_of_others(value, right) <= golden.MAX_SHARE
        if wrong and not is_index:
            raise _wrong(f"in output {name}, {wrong}", reader, path)


def _share_of_others(value: Array, right: Array) -> float:
    return np.count_nonzero(value.reshape(-1) != right.reshape(-1)) / max(1, right.size)


def _wrong(reason: str, reader: str, path: Path) -> ExportModelError:
    return ExportModelError(
        f"the exported file is wrong, as {reader} reads it: {reason}; it is not written",
        where=str(path),
        hint=_HINT,
    )


def _run_peer(
    exporter: Exporter,
    copy: Path,
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    path: Path,
) -> _PeerAnswer:
    """The answer of the peer in a process of its own, which a damaged file may crash."""
    folder, peer = copy.parent, exporter.PEER
    name = next(name for name, one in exporters.exporters().items() if one is exporter)
    peer_process.write_request(folder, list(inputs), list(outputs), list(inputs.values()))
    argv = [sys.executable, "-P", "-m", peer_process.__name__, name, str(copy)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            argv, env=environment, capture_output=True, check=False, timeout=_LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return _PeerAnswer(peer, f"it takes more than {_LIMIT_SECONDS} s")
    if done.returncode < 0:
        raise _wrong(f"it crashes ({signal.strsignal(-done.returncode)})", peer, path)
    if done.returncode:
        return _PeerAnswer(peer, _last_line(done.stderr.decode(errors="replace")))
    answer = strict_json.loads((folder / peer_process.ANSWER).read_bytes())
    peer = f"{peer} {answer['version']}".strip()
    if answer["is_wrong"]:
        raise _wrong(answer["reason"], peer, path)
    if answer["reason"]:
        return _PeerAnswer(peer, _last_line(answer["reason"]))
    read = array_files.read_archive(folder / peer_process.RESULTS, error=ExportModelError, hint="")
    return _PeerAnswer(peer, "", tuple(read[f"out{i}"] for i in range(len(outputs))))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "it does not say why"
