"""The C++ engine's Python extension, or a clear error when it has not been built."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import sysconfig
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

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


def engine_file() -> Path:
    """The extension's file: beside the package, but in the cache when it holds plug-ins."""
    name = f"_engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not (compiled := plugins.for_engine()):
        return paths.package() / name
    facts = "\0".join([str(paths.root()), *(str(plugin.folder) for plugin in compiled)])
    return paths.cache() / "engines" / f"{zlib.crc32(facts.encode()):08x}" / name


def _loaded() -> ModuleType:
    """The extension, imported once; ImportError."""
    if _NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(_NAME, engine_file())
        if spec is None or spec.loader is None:
            raise ImportError(f"{engine_file()} is no extension module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[_NAME] = module
    return sys.modules[_NAME]


if TYPE_CHECKING:
    from trimtab._engine import EngineError
else:
    try:
        EngineError = _loaded().EngineError
    except ImportError:  # not built yet: `engine()` says so when somebody needs it

        class EngineError(Exception):
            """Stands in for trimtab._engine.EngineError; never raised."""


@cache
def engine() -> Any:
    """The extension, with the operators of shared libraries and functions that plug-ins bring;
    MissingRequirementError when it has not been built for this Python.
    """
    module = extension()
    for library in plugins.libraries():
        with plugins.isolated(library):
            load_plugin(library.folder)
    plugins.modules("functions")  # which register themselves
    return module


@cache
def _load_library(path: Path) -> None:
    _outlive(path)
    try:
        extension().load_library(str(path))
    except EngineError as e:
        hint = "docs/run-time-plugins.md says what a shared library must hold"
        raise PluginError(e.args[1], hint=hint) from None


def _outlive(path: Path) -> None:
    """PluginError when a process that loads the library dies of it: this one shall not."""
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    argv = [sys.executable, "-I", "-S", "-c", script, str(path)]
    done = subprocess.run(argv, capture_output=True, check=False)
    if done.returncode < 0:
        raise PluginError(
            f"the library crashes while it is loaded ({signal.strsignal(-done.returncode)})",
            where=str(path),
            hint="look at its constructors: they run before anything of it is called",
        )


def load_plugin(path: str | Path) -> None:
    """Has the engine know the operators of a shared library, for the life of this process; once,
    however often it is asked. PluginError when it cannot be loaded, is of another ABI, or has an
    operator that there is already.
    """
    _load_library(Path(path).resolve())


def provider_of(op_id: int) -> str:
    """What computes an operator at run time here: the path of a library, or `file:line` of a
    function of Python; "" for nothing.
    """
    return str(engine().origin_of(op_id))


def is_python(place: str) -> bool:
    """Whether what `provider_of` says is a function of Python."""
    return place.rpartition(":")[2].isdigit()


def extension() -> Any:
    """The extension module; MissingRequirementError when it has not been built for this Python."""
    try:
        return _loaded()
    except ImportError as e:
        raise MissingRequirementError(
            f"the engine's Python extension cannot be loaded: {e}",
            hint="run ./inv engine in the checkout, or pip install trimtab again",
        ) from None
