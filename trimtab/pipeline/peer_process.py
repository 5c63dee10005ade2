"""The process in which another runtime runs an exported file: `python -m ... EXPORTER FILE`.

The request and the results are files beside it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import array_files, exporters, files, strict_json
from trimtab.errors import ExportModelError

REQUEST, INPUTS = "request.json", "inputs.npz"
ANSWER, RESULTS = "answer.json", "results.npz"


def write_request(
    folder: Path, inputs: Sequence[str], outputs: Sequence[str], arrays: Sequence[NDArray[Any]]
) -> None:
    """Writes the names of inputs and outputs, and the values of the inputs."""
    names = {"inputs": list(inputs), "outputs": list(outputs)}
    files.write_text(folder / REQUEST, strict_json.dumps(names))
    _write_arrays(folder / INPUTS, {f"in{i}": array for i, array in enumerate(arrays)})


def main(name: str, path: Path) -> None:
    """Runs the file, and writes the results, or why there are none. `is_wrong`: the peer says that
    the file is not one of its format.
    """
    folder = path.parent
    names = strict_json.loads((folder / REQUEST).read_bytes())
    arrays = array_files.read_archive(folder / INPUTS, error=ExportModelError, hint="")
    inputs = {name: arrays[f"in{i}"] for i, name in enumerate(names["inputs"])}
    exporter = exporters.exporters()[name]
    answer = {"is_wrong": False, "reason": "", "version": ""}
    try:
        peer = importlib.import_module(exporter.PEER)
        answer["version"] = str(getattr(peer, "__version__", ""))
        results = exporter.run_peer(path, inputs, names["outputs"])
        _write_arrays(folder / RESULTS, {f"out{i}": array for i, array in enumerate(results)})
    except ExportModelError as error:
        answer |= {"is_wrong": True, "reason": error.what}
    except Exception as error:  # each runtime has its own exception classes
        answer |= {"reason": str(error) or type(error).__name__}
    files.write_text(folder / ANSWER, strict_json.dumps(answer))


def _write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    with files.replacing(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
