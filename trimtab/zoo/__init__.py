"""The zoo: well-known vision networks with seeded weights, built by code without downloads.

A network is a module of `trimtab.zoo.networks` with `INPUT_SHAPE` and `build(net, x)`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import pkgutil
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
from numpy.typing import NDArray

from trimtab import files, paths
from trimtab.errors import ModelFileError, UsageError
from trimtab.progress import SILENT, Progress
from trimtab.zoo import networks
from trimtab.zoo.builder import INPUT, Net


def names() -> tuple[str, ...]:
    """The names of all networks, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(networks.__path__)))


def model(name: str) -> onnx.ModelProto:
    """The network `name` as an ONNX model (opset 17, float32, batch 1)."""
    module = _network(name)
    net = Net(name, module.INPUT_SHAPE)
    module.build(net, INPUT)
    return net.model(_fingerprint(name))


def write(name: str, directory: str | Path, progress: Progress = SILENT) -> Path:
    """Writes `NAME.onnx` into `directory` unless it is up to date; returns its path."""
    path = Path(directory) / f"{name}.onnx"
    if _is_current(path, _fingerprint(name)):
        return path
    with progress.step(f"build {path.name} with seeded weights"):
        data = model(name).SerializeToString(deterministic=True)
        files.write_bytes(path, data, error=ModelFileError)
    return path


def cached(name: str, progress: Progress = SILENT) -> Path:
    """The file of the network `name` in the cache, which is written if it is not up to date."""
    return write(name, paths.cache() / "zoo", progress)


def sample_input(name: str) -> dict[str, NDArray[np.float32]]:
    """A seeded input of the network: {"data": float32[1, c, h, w]}, standard normal."""
    shape: tuple[int, ...] = _network(name).INPUT_SHAPE
    return {INPUT: np.random.default_rng(1).standard_normal(shape, np.float32)}


def _network(name: str) -> ModuleType:
    if name not in names():
        raise UsageError(
            f"no network '{name}' in the zoo", hint=f"choose from: {', '.join(names())}"
        )
    return importlib.import_module(f"{networks.__name__}.{name}")


@functools.cache
def _fingerprint(name: str) -> str:
    """Hash of what determines the bytes of a network: the builder, all blocks and networks, as some
    are made of others, and the packages.
    """
    digest = hashlib.sha256(f"{name} {np.__version__} {onnx.__version__}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _is_current(path: Path, fingerprint: str) -> bool:
    """Whether `path` ends with the fingerprint, which is the last field of a complete model."""
    try:
        with path.open("rb") as file:
            file.seek(-len(fingerprint), os.SEEK_END)
            return file.read() == fingerprint.encode()
    except OSError:
        return False
