"""Caffe's contract of a layer: how many bottoms and tops it takes, which is checked before set-up.

Source: `Layer::CheckBlobCounts` of https://github.com/BVLC/caffe/blob/master/include/caffe/layer.hpp
and the counts that each layer declares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

H = TypeVar("H", bound=Callable[..., Any])

Range = tuple[int, int | None]
"""The smallest and the largest number, which is None without a limit."""

EXACTLY_ONE: Range = (1, 1)
ANY: Range = (1, None)

_COUNTS = "counts"


@dataclass(frozen=True)
class BlobCounts:
    """Numbers of bottoms and tops of a layer type.

    `equal`: there are as many tops as bottoms. `in_place`: a top may be the bottom at its place.
    """

    bottoms: Range = EXACTLY_ONE
    tops: Range = EXACTLY_ONE
    equal: bool = False
    in_place: bool = True

    def problem(self, bottoms: int, tops: int) -> str:
        """The rule that these numbers break; "" if they break none."""
        for count, limits, name in ((bottoms, self.bottoms, "bottom"), (tops, self.tops, "top")):
            least, most = limits
            if count < least or (most is not None and count > most):
                bound = "exactly" if least == most else "at least" if count < least else "at most"
                number = least if count < least else most
                return f"it has {_counted(count, name)}, and takes {bound} {number}"
        if self.equal and bottoms != tops:
            counts = f"{_counted(bottoms, 'bottom')} and {_counted(tops, 'top')}"
            return f"it has {counts}, and takes equal numbers"
        return ""


def takes(
    bottoms: Range = EXACTLY_ONE,
    tops: Range = EXACTLY_ONE,
    *,
    equal: bool = False,
    in_place: bool = True,
) -> Callable[[H], H]:
    """Declares the counts of a handler; by default a layer has one bottom and one top."""

    def declare(handler: H) -> H:
        setattr(handler, _COUNTS, BlobCounts(bottoms, tops, equal, in_place))
        return handler

    return declare


def counts_of(handler: Callable[..., Any] | None) -> BlobCounts | None:
    """The counts of a handler of this package; None for those of plug-ins and scripts."""
    if not getattr(handler, "__module__", "").startswith(f"{__package__}."):
        return None
    counts: BlobCounts = getattr(handler, _COUNTS, BlobCounts())
    return counts


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
