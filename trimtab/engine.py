"""The C++ engine's Python extension, or a clear error when it has not been built."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trimtab import paths, plugins
from trimtab.errors import MissingRequirementError

__all__ = ["EngineError", "engine", "engine_file"]

_NAME = "trimtab._engine"


def engine_file() -> Path:
    """The extension's file: beside the package, but in the cache when it holds plug-ins."""
    name = f"_engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not (compiled := plugins.compiled()):
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
    """The extension module; MissingRequirementError when it has not been built for this Python."""
    try:
        return _loaded()
    except ImportError as e:
        raise MissingRequirementError(
            f"the engine's Python extension cannot be loaded: {e}",
            hint="run ./inv engine in the checkout, or pip install trimtab again",
        ) from None
