"""The files of a network for engines that run on a device: models in their formats, and samples."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trimtab import exporters, importers
from trimtab.errors import RunnerError

_SAMPLES = 5  # of which one measures accuracy


def files_of(
    engine: str,
    model: Path,
    inputs: Mapping[str, tuple[int, ...]],
    folder: Path,
    converter: str = "",
) -> list[Path]:
    """The files of the network for `engine`, new ones in `folder`; the first one names it.

    `inputs`: their shapes by name. `converter`: a program of PyPI, pnnx for ncnn, onnx2tf for
    LiteRT; without one, ncnn's files are those of trimtab's exporter. TrimtabError where the
    engine's format cannot express the network.
    """
    if engine == "litert" and converter:
        return [_from_onnx2tf(converter, model, inputs, folder)]
    if engine != "ncnn":
        return [model]
    path = folder / f"{model.stem}.ncnn.param"
    if converter:
        return _from_pnnx(converter, model, inputs, path)
    exporter = exporters.exporter_for(path)
    assert exporter is not None
    return exporters.write(importers.load(model, inputs, cache=False), path, exporter)


def normal_samples(model: Path, folder: Path) -> Path:
    """A file of samples for the network, like the inputs that it is run with: standard normal."""
    program, draw = importers.load(model, cache=False), np.random.default_rng(0).standard_normal
    shapes = {name: program.vars[name].shape for name in program.inputs}
    path = folder / "samples.npz"
    arrays: dict[str, Any] = {
        name: draw((_SAMPLES, *shape[1:])).astype(np.float32) for name, shape in shapes.items()
    }
    np.savez(path, **arrays)
    return path


def _from_pnnx(
    pnnx: str, model: Path, inputs: Mapping[str, tuple[int, ...]], path: Path
) -> list[Path]:
    """The files of float32 weights that pnnx writes beside its input, which is a copy."""
    folder = path.parent / "pnnx"
    folder.mkdir(exist_ok=True)
    copy = shutil.copy(model, folder)
    shapes = ",".join(str([*shape]).replace(" ", "") for shape in inputs.values())
    command = [pnnx, str(copy), f"inputshape={shapes}", "fp16=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    files = [folder / path.name, folder / path.with_suffix(".bin").name]
    if done.returncode or not all(file.is_file() for file in files):
        raise RunnerError(f"pnnx failed: {(done.stdout + done.stderr)[-300:]}", where=str(model))
    return files


def _from_onnx2tf(
    onnx2tf: str, model: Path, inputs: Mapping[str, tuple[int, ...]], folder: Path
) -> Path:
    """The .tflite file of float32 that onnx2tf writes; images there have their channels last."""
    written = folder / "onnx2tf" / f"{model.stem}_float32.tflite"
    shapes = [f"{name}:{','.join(map(str, shape))}" for name, shape in inputs.items()]
    command = [onnx2tf, "-i", str(model), "-o", str(written.parent), "-n", "-coion"]
    command += ["-ois", *shapes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not written.is_file():
        raise RunnerError(f"onnx2tf failed: {(done.stdout + done.stderr)[-300:]}", where=str(model))
    return written.rename(folder / f"{model.stem}.tflite")
