"""The C++ engine's Python extension, or a clear error when it has not been built."""

from __future__ import annotations

from functools import cache
from typing import Any

from trimtab.errors import MissingRequirementError

__all__ = ["EngineError", "engine"]

try:
    from trimtab._engine import EngineError
except ImportError:  # not built yet: `engine()` says so when somebody needs it

    class EngineError(Exception):  # type: ignore[no-redef]
        """Stands in for trimtab._engine.EngineError; never raised."""


@cache
def engine() -> Any:
    """The extension module; MissingRequirementError when it has not been built for this Python."""
    try:
        from trimtab import _engine
    except ImportError as e:
        raise MissingRequirementError(
            f"the engine's Python extension cannot be loaded: {e}",
            hint="run ./inv engine in the checkout, or pip install trimtab again",
        ) from None
    return _engine
