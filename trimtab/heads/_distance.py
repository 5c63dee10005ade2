"""Heads without anchors whose boxes are distances from the center of a cell, in bins or not."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading, Values
from trimtab.heads._trace import raw_tensors, stride
from trimtab.program import Program, Var

BINS = 16


def levels_behind(program: Program, output: Var, channels: Sequence[int]) -> list[str]:
    """The convolutions that `output`, [n, c, places], is decoded from: of each level, from the
    finest on, one for each number of `channels`, in this order. Empty unless there are just these.
    """
    levels: dict[int, list[Var]] = {}
    for var in raw_tensors(program, output.name):
        levels.setdefault(stride(program, var), []).append(var)
    names, places = [], 0
    for _, level in sorted(levels.items()):
        by_channels = {var.shape[1]: var for var in level}
        if len(by_channels) < len(level) or sorted(by_channels) != sorted(channels):
            return []
        names += [by_channels[n].name for n in channels]
        places += level[0].shape[2] * level[0].shape[3]
    return names if places == output.shape[2] else []


def append_decoded(builder: HeadBuilder, x: Var, classes: int, *, nms: bool = True) -> None:
    """Boxes of [n, 4 + classes + values, places], which the network has decoded."""
    builder.boxes(
        [x.name],
        nms=nms,
        on_grids=(1,),
        box="center_size",
        channels_first=True,
        score_channel=4,
        classes=classes,
        scale=builder.unit_scale,
    )


def values_of_locations(
    builder: HeadBuilder, tensors: Sequence[Var], grids: Sequence[Sequence[int]]
) -> tuple[str, int] | None:
    """The name and the channels of values [n, c, places]: of such a tensor, or of one [n, c, h, w]
    of each level of `grids`; None if `tensors` are something else.
    """
    by_grid = {tuple(var.shape[2:]): var for var in tensors}
    shapes = [tuple(grid) for grid in grids]
    places = (sum(h * w for h, w in shapes),)
    if len(tensors) == 1 and places in by_grid:
        return tensors[0].name, tensors[0].shape[1]
    channels = {var.shape[1] for var in tensors}
    if len(tensors) != len(shapes) or {*by_grid} != {*shapes} or len(channels) != 1:
        return None
    (count,) = channels
    rows = []
    for grid in shapes:
        shape = (by_grid[grid].shape[0], count, grid[0] * grid[1])
        rows += builder.add("reshape", [by_grid[grid].name], shape=shape)
    return builder.add("concat", rows, axis=2)[0], count


def append_distances(
    builder: HeadBuilder,
    bins: int = BINS,
    *,
    tensors: Sequence[Var] = (),
    scores_first: bool = False,
    offset: float = 0.5,
    nms: bool = True,
) -> list[Sequence[int]]:
    """One tensor of each level, or two: boxes, then classes. `tensors`: those, if there are others.
    `scores_first`: the classes are before the boxes, in a tensor and in the order of tensors.
    `offset`: the place of the point in its cell that distances start from. `nms`: boxes suppress
    each other. Returns height and width of each level, in the order of the boxes' numbers.
    """
    tensors = tensors or builder.tensors
    pictures = [var for var in tensors if len(var.shape) == 4]
    grids = list(dict.fromkeys(var.shape[2:] for var in pictures))
    levels = [[var for var in pictures if var.shape[2:] == grid] for grid in grids]
    parts = len(levels[0]) if levels else 0
    expected = f"one or two tensors [n, c, h, w] of each level, with {4 * bins} channels for boxes"
    if len(pictures) != len(tensors) or any(len(level) != parts for level in levels):
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
    return [grids[i] for i in order]


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


def append_flat_distances(builder: HeadBuilder, bins: int, offset: float) -> None:
    """Boxes of an output [n, places, classes + 4 * bins] with the places of all levels; or of
    outputs [n, places, classes] and [n, places, 4 * bins] of each level. The scores are sigmoids.
    """
    tensors = builder.tensors
    boxes = [var for var in tensors if var.shape[2] == 4 * bins] if tensors[1:] else []
    if len(boxes) == len(tensors):  # as many classes: those of classes are first
        boxes = boxes[len(boxes) // 2 :]
    scores = [var for var in tensors if var not in boxes]
    classes = scores[0].shape[2] - (0 if boxes else 4 * bins)
    height, width = builder.image_size()
    parts = [boxes, scores] if boxes else [scores]
    sizes = [[var.shape[1] for var in part] for part in parts]
    for strides in ((8, 16, 32), (8, 16, 32, 64)):
        grids = [(-(-height // step), -(-width // step)) for step in strides]
        places = [h * w for h, w in grids]
        if classes > 0 and sizes == ([places, places] if boxes else [[sum(places)]]):
            names = [[var.name for var in part] for part in parts]
            if boxes:  # the proof runs the network as it ends without the head
                proven = tuple(Values("scores", var.name, 2, 0, classes) for var in scores)
                builder.reads(Reading(classes, rows=sum(places), values=proven))
            builder.boxes(
                [builder.add("concat", part, axis=1)[0] if boxes else part[0] for part in names],
                parts=len(parts),
                box="distance",
                bins=bins,
                classes=builder.request.classes or classes,
                cell_offset=offset,
                box_channel=0 if boxes else classes,
                strides=strides,
                grids=[size for grid in grids for size in grid],
            )
            return
    raise builder.invalid(
        f"[n, places, classes + {4 * bins}] on grids of stride 8 to 32 or 64, or [n, places, "
        f"classes] and [n, places, {4 * bins}] of each of them"
    )
