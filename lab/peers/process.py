"""An inference engine in a process of its own, and what it is to compute there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from lab.peers import quantized, worker
from trimtab import files
from trimtab.bench.golden import Golden
from trimtab.bench.oracle import onnx_golden
from trimtab.errors import MissingRequirementError, RunnerError

_LOOK_SECONDS = 0.03  # three ticks of a usual kernel's clock
_REST_SECONDS = 5


@dataclass(frozen=True)
class Case:
    """A model and what is expected of it; `folder` is for files made of it. trimtab's plan has the
    preference `prefer`, unless that is "".
    """

    model: Path
    golden: Golden
    input_names: tuple[str, ...]
    weights_bytes: int
    folder: Path
    prefer: str = ""

    @classmethod
    def of(cls, model: Path, cache: Path, prefer: str = "") -> Case:
        """The case of an ONNX file; errors as of `onnx_golden`."""
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
        """The job for `worker`; its inputs are written where it says."""
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
            "origin": [str(path.absolute()) for path in quantized.origin(self.model) or ()],
        }
        return json.dumps(job)

    def error(self) -> float:
        """How far the outputs that a worker has written are from the expected ones: the largest
        difference, relative to the largest expected magnitude of its output, or to 1 where nothing
        but zeros is expected: steps of 1/256 are more than the probabilities of a thousand classes.
        """
        with np.load(self.folder / "outputs.npz") as archive:
            found = [archive[name] for name in archive.files]
        if [a.size for a in found] != [e.size for e in self.golden.outputs]:
            return math.inf
        return max(
            float(np.abs(a.ravel() - e.ravel()).max(initial=0) / (np.abs(e).max(initial=0) or 1))
            for a, e in zip(found, self.golden.outputs, strict=True)
        )


@dataclass(frozen=True)
class Loaded:
    """What an engine said when it had loaded a model and run it. `peak_bytes`: of its process,
    pages of mapped files included, beyond what was resident before the engine's packages were
    imported; `shipped_bytes`: of the model's files; `error`: see `Case.error`.
    """

    create_ns: int
    first_ns: int
    peak_bytes: int
    shipped_bytes: int
    error: float


class Process:
    """An engine that has loaded a model. RunnerError, with its last words, when it fails."""

    def __init__(self, python: str, case: Case, engine: str, threads: int) -> None:
        self._name = f"{engine} on {case.model.stem}"
        job = case.job(engine, threads)
        self._log = (case.folder / f"{engine}.log").open("w+")
        self._process = subprocess.Popen(
            [python, worker.__file__, "serve", job],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
        )  # fmt: skip
        try:
            self.loaded = Loaded(**self._answer(), error=case.error())
        except RunnerError:
            self.close()
            raise

    def _answer(self) -> Mapping[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._log.seek(0)
            raise RunnerError(f"it ended: {_last_line(self._log.read())}", where=self._name)
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def run(self, count: int) -> Sequence[int]:
        """Nanoseconds of each of `count` inferences; all of its threads sleep when this returns."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has died: the answer will say so
            print(count, file=self._process.stdin, flush=True)
        taken = [int(ns) for ns in self._answer()["ns"]]
        self._settle()
        return taken

    def _settle(self) -> None:
        """Waits until it takes no processor's time and wants none: threads of some engines go on
        spinning after an inference, where the next engine's would run. RunnerError when it never
        comes to rest.
        """
        end = time.monotonic() + _REST_SECONDS
        _, ticks = _threads(self._process.pid)
        while time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
            before = ticks
            wants, ticks = _threads(self._process.pid)
            if ticks == before and not wants:
                return
        raise RunnerError(f"it still computes {_REST_SECONDS} s after its answer", where=self._name)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()


def _threads(pid: int) -> tuple[bool, int]:
    """Whether a thread of a process runs or waits for a processor, and the time that all took, in
    ticks: fields 3, 14 and 15 of /proc/PID/task/TID/stat (proc(5)).
    """
    wants, ticks = False, 0
    with contextlib.suppress(OSError):  # it has ended, which the next turn will say
        for file in Path(f"/proc/{pid}/task").glob("*/stat"):
            fields = file.read_text().rpartition(") ")[2].split()
            wants |= fields[0] == "R"
            ticks += int(fields[11]) + int(fields[12])
    return wants, ticks


def prepare(python: str, case: Case, engine: str, threads: int) -> None:
    """Converts the model for the engine, apart from its process, whose memory is measured."""
    command = [python, worker.__file__, "prepare", case.job(engine, threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunnerError(
            f"cannot convert the model: {_last_line(done.stderr)}",
            where=f"{engine} on {case.model.stem}",
        )


def probe(python: str) -> dict[str, str]:
    """The versions of the engines that the interpreter at `python` has."""
    command = [python, worker.__file__, "probe"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        words = e.stderr if isinstance(e, subprocess.CalledProcessError) else str(e)
        raise MissingRequirementError(
            f"it does not run the peers: {_last_line(words)}",
            where=python,
            hint="name the Python of an environment that has numpy and the peers",
        ) from None
    found: dict[str, str] = json.loads(done.stdout)
    return found


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][-300:] or "it said nothing"
