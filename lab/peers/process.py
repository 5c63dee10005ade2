"""An inference engine in a process of its own, and the test case it runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from lab.machine import isa
from lab.peers import worker
from lab.worker import WorkerProcess, ask_once
from trimtab import files
from trimtab.bench.golden import Golden
from trimtab.bench.oracle import onnx_golden
from trimtab.errors import MissingRequirementError, RunnerError

_LIMITS = {"avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
"""Variables that limit peers to the instructions of `isa()`: those of oneDNN, which OpenVINO has.
onnxruntime and ncnn cannot be limited.
"""
_POLL_SECONDS = 0.03  # three scheduler ticks of a usual kernel
_SETTLE_SECONDS = 5


@dataclass(frozen=True)
class PeerCase:
    """A model with its expected outputs.

    `folder`: for converted files; `prefer`: the preference of trimtab's plan, or "".
    """

    model: Path
    golden: Golden
    input_names: tuple[str, ...]
    weights_bytes: int
    folder: Path
    prefer: str = ""

    @classmethod
    def of(cls, model: Path, cache: Path, prefer: str = "") -> PeerCase:
        """The case of an ONNX file. Raises the errors of `onnx_golden`."""
        golden = onnx_golden(model, {})
        graph = onnx.load(model, load_external_data=False).graph
        initial = {tensor.name for tensor in graph.initializer}
        names = tuple(value.name for value in graph.input if value.name not in initial)
        weights = sum(
            math.prod(t.dims) * onnx.helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
            for t in graph.initializer
        )
        digest = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
        return cls(model, golden, names, weights, cache / f"{model.stem}-{digest}", prefer)

    def job(self, engine: str, threads: int) -> str:
        """The JSON job for `worker`; writes the input file it names."""
        folder = self.folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = dict(zip(self.input_names, self.golden.inputs, strict=True))
        with files.replacing(folder / "inputs.npz") as part, part.open("wb") as archive:
            np.savez(archive, **arrays)
        job = {
            "engine": engine,
            "model": str(self.model.absolute()),
            "folder": str(folder),
            "threads": threads,
            "prefer": self.prefer,
            "inputs": str(folder / "inputs.npz"),
            "names": list(self.golden.output_names),
        }
        return json.dumps(job)

    def error(self) -> float:
        """The largest error of the outputs written by a worker, relative to the largest expected
        magnitude of the output.

        It is infinite for results that are no numbers. The divisor is 1 for an output expected to
        be all zeros, which occurs in int8: 1/256 is larger than most probabilities of a thousand
        classes.
        """
        with np.load(self.folder / "outputs.npz") as archive:
            outputs = [archive[name] for name in archive.files]
        if [a.size for a in outputs] != [e.size for e in self.golden.outputs]:
            return math.inf
        errors = (
            float(np.abs(a.ravel() - e.ravel()).max(initial=0) / (np.abs(e).max(initial=0) or 1))
            for a, e in zip(outputs, self.golden.outputs, strict=True)
        )
        return max(math.inf if math.isnan(error) else error for error in errors)


@dataclass(frozen=True)
class LoadFigures:
    """Figures of loading a model and the first inference.

    `peak_bytes`: peak resident memory of the process, mapped files included, minus the resident
    memory before the engine's packages were imported; `shipped_bytes`: size of the model's files;
    `error`: see `PeerCase.error`.
    """

    create_ns: int
    first_ns: int
    peak_bytes: int
    shipped_bytes: int
    error: float


@dataclass(frozen=True)
class EngineBlock:
    """Nanoseconds of each inference, and the share of its time for which the engine's threads were
    ready and had no core.
    """

    ns: Sequence[int]
    waited: float


def environment() -> dict[str, str]:
    """Variables of the engines' processes."""
    return {**os.environ, **_LIMITS.get(isa(), {})}


class Process:
    """A running engine with a loaded model. RunnerError with its last message when it fails."""

    def __init__(self, python: str, case: PeerCase, engine: str, threads: int) -> None:
        self._name = f"{engine} on {case.model.stem}"
        self._worker = WorkerProcess(
            [python, worker.__file__, "serve", case.job(engine, threads)],
            self._name,
            environment(),
        )
        try:
            self.loaded = LoadFigures(**self._worker.answer(), error=case.error())
        except RunnerError:
            self.close()
            raise

    def run(self, count: int) -> EngineBlock:
        """Times `count` inferences; returns when all threads of the engine are idle."""
        answer = self._worker.ask(str(count))
        self._settle()
        return EngineBlock([int(ns) for ns in answer["ns"]], answer["waited"])

    def _settle(self) -> None:
        """Waits until the process is idle: threads of some engines spin after an inference and
        would disturb the next engine. RunnerError when it does not become idle.
        """
        end = time.monotonic() + _SETTLE_SECONDS
        _, ticks = _threads(self._worker.pid)
        while time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            before = ticks
            is_runnable, ticks = _threads(self._worker.pid)
            if ticks == before and not is_runnable:
                return
        raise RunnerError(f"still busy {_SETTLE_SECONDS} s after its answer", where=self._name)

    def close(self) -> None:
        """Ends the process."""
        self._worker.close()


def _threads(pid: int) -> tuple[bool, int]:
    """Whether a thread of a process is runnable, and the CPU time of all its threads in ticks.

    Source: fields 3, 14 and 15 of /proc/PID/task/TID/stat (proc(5)).
    """
    is_runnable, ticks = False, 0
    with contextlib.suppress(OSError):  # it has ended, which the next answer shows
        for file in Path(f"/proc/{pid}/task").glob("*/stat"):
            fields = file.read_text().rpartition(") ")[2].split()
            is_runnable |= fields[0] == "R"
            ticks += int(fields[11]) + int(fields[12])
    return is_runnable, ticks


def prepare(python: str, case: PeerCase, engine: str, threads: int) -> None:
    """Converts the model, not in the process whose memory is measured."""
    command = [python, worker.__file__, "prepare", case.job(engine, threads)]
    ask_once(command, f"{engine} on {case.model.stem}, conversion")


def probe(python: str) -> dict[str, str]:
    """The versions of the engines installed for the interpreter `python`."""
    try:
        versions: dict[str, str] = ask_once([python, worker.__file__, "probe"], python)
    except RunnerError as error:
        raise MissingRequirementError(
            f"it does not run the peers: {error.what}",
            where=python,
            hint="name the Python of an environment that has numpy and the peers",
        ) from error
    return versions
