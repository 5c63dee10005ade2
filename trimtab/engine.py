"""Loads the Python extension of the C++ engine, with the operators of plug-ins."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import threading
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from trimtab import paths, plugins
from trimtab.errors import MissingRequirementError, PluginError

__all__ = [
    "EngineError",
    "engine",
    "engine_file",
    "extension",
    "is_python",
    "load_plugin",
    "provider_of",
]

_NAME = "trimtab._engine"
_LOADING = threading.RLock()  # threads of a sweep begin with the engine at the same time


class EngineError(Exception):
    """An error of the extension, which raises this class: (code of trimtab.h, message).

    Defined here and not in the extension, so that no import loads the extension: a task compiles it
    first, and a process cannot load it twice.
    """


def engine_file() -> Path:
    """The extension's file: in the package folder, or in the cache if it contains plug-ins."""
    name = f"_engine{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    if not (compiled_in := plugins.for_engine()):
        return paths.package() / name
    facts = "\0".join([str(paths.root()), *(str(plugin.folder) for plugin in compiled_in)])
    return paths.cache() / "engines" / f"{zlib.crc32(facts.encode()):08x}" / name


def _loaded() -> ModuleType:
    """The extension, imported once; ImportError if it is missing."""
    with _LOADING:
        if _NAME not in sys.modules:
            spec = importlib.util.spec_from_file_location(_NAME, engine_file())
            if spec is None or spec.loader is None:
                raise ImportError(f"{engine_file()} is not an extension module")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[_NAME] = module
        return sys.modules[_NAME]


@cache
def engine() -> Any:
    """The extension, with the operators that plug-ins provide in shared libraries and Python
    functions; MissingRequirementError if it has not been built for this Python.
    """
    with _LOADING:
        module = extension()
        for library in plugins.libraries():
            with plugins.isolated(library):
                load_plugin(library.folder)
        plugins.modules("functions")  # importing a module registers its operators
        return module


@cache
def _load_library(path: Path) -> None:
    _check_loadable(path)
    try:
        extension().load_library(str(path))
    except EngineError as e:
        hint = "docs/run-time-plugins.md describes the interface of a shared library"
        raise PluginError(e.args[1], hint=hint) from None


def _check_loadable(path: Path) -> None:
    """PluginError if loading the library crashes a separate process."""
    import signal
    import subprocess  # which running a model does not need

    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    argv = [sys.executable, "-I", "-S", "-c", script, str(path)]
    result = subprocess.run(argv, capture_output=True, check=False)
    if result.returncode < 0:
        raise PluginError(
            f"loading the library crashes ({signal.strsignal(-result.returncode)})",
            where=str(path),
            hint="check its constructors, which run while it is loaded",
        )


def load_plugin(path: str | Path) -> None:
    """Registers the operators of a shared library with the engine, for the life of this process;
    repeated calls have no effect. PluginError if the library cannot be loaded, has another ABI, or
    has an operator that exists already.
    """
    _load_library(Path(path).resolve())


def provider_of(op_id: int) -> str:
    """The provider of an operator at run time: the path of a shared library, `file:line` of a
    Python function, or "" if there is none.
    """
    return str(engine().origin_of(op_id))


def is_python(provider: str) -> bool:
    """Whether a result of `provider_of` is a Python function."""
    return provider.rpartition(":")[2].isdigit()


def extension() -> Any:
    """The extension module; MissingRequirementError if it has not been built for this Python."""
    try:
        return _loaded()
    except ImportError as e:
        raise MissingRequirementError(
            f"the engine's Python extension cannot be loaded: {e}",
            hint="run ./inv engine in the checkout, or pip install trimtab again",
        ) from None
