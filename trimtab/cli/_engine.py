"""For tasks that use the C++ engine from Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def needs_engine(body: Callable[P, R]) -> Callable[P, R]:
    """`body`, after the engine of this checkout was built, or what has changed of it.

    An installed trimtab has its engine already.
    """

    @functools.wraps(body)
    def with_engine(*args: P.args, **kwargs: P.kwargs) -> R:
        from trimtab.build import host_build
        from trimtab.cli._progress import shown

        host_build.build_engine(shown(quiet=bool(kwargs.get("json"))))
        return body(*args, **kwargs)

    return with_engine
