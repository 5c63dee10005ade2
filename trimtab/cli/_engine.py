"""For tasks that use the C++ engine from Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def build_engine(*, quiet: bool = False) -> None:
    """Builds the engine of this checkout, or what has changed of it; an installed trimtab has its
    engine already.
    """
    from trimtab.build import host_build
    from trimtab.cli._progress import shown

    host_build.build_engine(shown(quiet=quiet))


def needs_engine(body: Callable[P, R]) -> Callable[P, R]:
    """`body`, preceded by `build_engine`."""

    @functools.wraps(body)
    def with_engine(*args: P.args, **kwargs: P.kwargs) -> R:
        build_engine(quiet=bool(kwargs.get("json")))
        return body(*args, **kwargs)

    return with_engine
