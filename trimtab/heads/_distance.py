"""Heads without anchors whose boxes are distances from the center of a cell, in bins or not."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._trace import stride
from trimtab.program import Program, Var

BINS = 16


def pairs_by_level(
    program: Program, tensors: Sequence[Var], classes: int, bins: Sequence[int] = (BINS,)
) -> list[tuple[Var, Var]]:
    """Boxes and classes of each level, from the finest on; empty unless each level has just these
    two tensors.
    """
    levels: dict[int, list[Var]] = {}
    for var in tensors:
        levels.setdefault(stride(program, var), []).append(var)
    pairs = []
    for _, level in sorted(levels.items()):
        boxes = [var for var in level if var.shape[1] in [4 * n for n in bins]]
        scores = [var for var in level if var.shape[1] == classes]
        if len(level) != 2 or len(boxes) != 1 or len(scores) != 1:
            return []
        pairs.append((boxes[0], scores[0]))
    return pairs


def append_distances(
    builder: HeadBuilder,
    bins: int = BINS,
    *,
    scores_first: bool = False,
    offset: float = 0.5,
    nms: bool = True,
) -> None:
    """One tensor of each level, or two: boxes, then classes. `scores_first`: the classes are before
    the boxes, in a tensor and in the order of tensors. `offset`: the place of the point in its cell
    that distances start from. `nms`: boxes suppress each other.
    """
    pictures = [var for var in builder.tensors if len(var.shape) == 4]
    grids = list(dict.fromkeys(var.shape[2:] for var in pictures))
    levels = [[var for var in pictures if var.shape[2:] == grid] for grid in grids]
    parts = len(levels[0]) if levels else 0
    expected = f"one or two tensors [n, c, h, w] of each level, with {4 * bins} channels for boxes"
    if len(pictures) != len(builder.tensors) or any(len(level) != parts for level in levels):
        raise builder.invalid(expected)
    if parts == 2:
        levels = [_sorted(builder, level, 4 * bins, scores_first) for level in levels]
    elif parts != 1:
        raise builder.invalid(expected)
    scores = levels[0][-1].shape[1] - (4 * bins if parts == 1 else 0)
    classes = builder.request.classes or scores
    if not 0 < classes <= scores:
        raise builder.invalid(expected)
    order = sorted(range(len(levels)), key=lambda i: -grids[i][0])
    builder.boxes(
        [var.name for i in order for var in levels[i]],
        nms=nms,
        parts=parts,
        box="distance",
        bins=bins,
        scores="sigmoid",
        classes=classes,
        cell_offset=offset,
        box_channel=scores if parts == 1 and scores_first else 0,
        score_channel=4 * bins if parts == 1 and not scores_first else 0,
        strides=builder.strides([grids[i] for i in order]),
    )


def _sorted(
    builder: HeadBuilder, level: Sequence[Var], box_channels: int, scores_first: bool
) -> list[Var]:
    """The two tensors of a level, boxes first. Their channels tell which is which, else their
    order.
    """
    fitting = [var.shape[1] == box_channels for var in level]
    if not any(fitting):
        raise builder.invalid(f"a tensor with {box_channels} channels for the boxes of each level")
    swapped = scores_first if all(fitting) else fitting[1]
    return [level[1], level[0]] if swapped else list(level)


def append_flat_distances(builder: HeadBuilder, output: Var, bins: int, offset: float) -> None:
    """Boxes of an output [n, places, classes + 4 * bins] with the places of all levels, whose
    scores are sigmoids already.
    """
    height, width = builder.image_size()
    _, places, channels = output.shape
    classes = channels - 4 * bins
    for strides in ((8, 16, 32), (8, 16, 32, 64)):
        grids = [(-(-height // step), -(-width // step)) for step in strides]
        if sum(h * w for h, w in grids) == places and classes > 0:
            builder.boxes(
                [output.name],
                box="distance",
                bins=bins,
                classes=builder.request.classes or classes,
                cell_offset=offset,
                box_channel=classes,
                strides=strides,
                grids=[size for grid in grids for size in grid],
            )
            return
    raise builder.invalid(f"[n, places, classes + {4 * bins}] on grids of stride 8 to 32 or 64")
