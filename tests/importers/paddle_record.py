"""Recorded results of Paddle for the test cases; Paddle is too large to be a dependency.

`python -m tests.importers.paddle_record` writes paddle.npz beside this file, in an environment with
paddlepaddle (3.3.1 was used). The inputs are the same in every run, so the record has outputs only.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.importers import paddle_cases, paddle_vision_cases
from tests.ops.cases.case import Array

RECORD = Path(__file__).with_name("paddle.npz")

CASES = {**paddle_cases.CASES, **paddle_vision_cases.CASES}


def recorded_results() -> dict[str, dict[str, Array]]:
    """The outputs of Paddle by name, by case."""
    result: dict[str, dict[str, Array]] = {name: {} for name in CASES}
    with np.load(RECORD) as file:
        for key in file.files:
            case, _, output = key.partition(":")
            result.setdefault(case, {})[output] = file[key]
    return result


def _record() -> None:
    paddle = importlib.import_module("paddle")
    paddle.set_flags({"FLAGS_enable_pir_api": False, "FLAGS_enable_pir_in_executor": False})

    paddle.enable_static()
    recorded: dict[str, Any] = {}
    for name, net in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            net.write(Path(folder))
            prefix = str(Path(folder) / "net")
            with paddle.static.scope_guard(paddle.static.Scope()):
                executor = paddle.static.Executor(paddle.CPUPlace())
                program, feeds, fetches = paddle.static.load_inference_model(prefix, executor)
                try:
                    results = executor.run(
                        program,
                        feed={n: net.feeds[n] for n in feeds},
                        fetch_list=fetches,
                        return_numpy=False,
                    )
                except Exception as error:
                    print(f"{name}: {str(error).strip().splitlines()[-1]}")
                    continue
        for output, value in zip(net.fetches, results, strict=True):
            recorded[f"{name}:{output}"] = np.array(value)
    np.savez_compressed(RECORD, **recorded)


if __name__ == "__main__":
    _record()
