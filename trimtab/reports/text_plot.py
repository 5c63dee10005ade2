"""Charts made of characters, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len

_EIGHTHS = "▏▎▍▌▋▊▉█"


def bars(rows: Sequence[tuple[str, float, str]], width: int = 40) -> str:
    """One bar per row of (label, value, text), in proportion to the largest value."""
    top = max((value for _, value, _ in rows), default=0) or 1
    pad = max((cell_len(label) for label, _, _ in rows), default=0)
    lines = []
    for label, value, text in rows:
        eighths = round(8 * width * value / top)
        bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")
        lines.append(f"{label}{' ' * (pad - cell_len(label))}  {bar or '▏'} {text}")
    return "\n".join(lines)


def plane(
    dots: Sequence[tuple[float, float, str]],
    names: tuple[str, str],
    texts: tuple[Callable[[float], str], Callable[[float], str]],
    width: int = 60,
    height: int = 15,
) -> str:
    """A scatter plot of dots (x, y, sign), with both axes from zero.

    `names` label the horizontal and the vertical axis, `texts` format the numbers at their ends. A
    later dot covers an earlier one at the same place.
    """
    right, top = max(x for x, _, _ in dots) or 1.0, max(y for _, y, _ in dots) or 1.0
    grid = [[" "] * (width + 1) for _ in range(height + 1)]
    for x, y, sign in dots:
        grid[height - round(height * y / top)][round(width * x / right)] = sign
    edge = texts[1](top)
    lines = [f"{names[1]} ↑"]
    for i, line in enumerate(grid):
        lines.append(f"{edge if i == 0 else '':>{len(edge)}} │{''.join(line)}".rstrip())
    lines.append(f"{' ' * len(edge)} └{'─' * width}")
    end = texts[0](right)
    lines.append(f"{' ' * len(edge)}  0{end:>{width}}  {names[0]} →")
    return "\n".join(lines)
