"""The reading of a network's tensors by a head: each head declares it, and `_proof` alone proves
it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Values:
    """Elements from `start` to `end` along `axis` of a tensor, which are between `low` and `high`
    for any picture, `whole` numbers if that is said, and in `ordered` ones the second half is not
    below the first: right and bottom behind left and top. Those `in_pixels` are not all from 0 to
    1. `what`: their name, for errors.
    """

    what: str
    tensor: str
    axis: int
    start: int
    end: int
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    ordered: bool = False
    in_pixels: bool = False


@dataclass(frozen=True)
class Reading:
    """The reading of a network's tensors by a head.

    `classes`: their number, 0: it has none, or does not follow from the tensors. `has_background`:
    one of them is no object, which may have no name. `rows`: the boxes of an image that the head
    chooses from. `on_grids`: the numbers of boxes at each place of the image's grids, if the rows
    are those; empty: any number of rows fits. `values`: what a run must show.
    """

    classes: int = 0
    has_background: bool = False
    rows: int = 0
    on_grids: tuple[int, ...] = ()
    values: tuple[Values, ...] = ()
