"""How busy the machine was while engines were timed: the share of its time for which a thread of an
engine was ready and had no core; and the time that counts then.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

BUSY = 0.02
"""The share from which on others disturb the times of an engine."""

_DIGITS = 3  # of shares in result files, from whose samples the same time has to follow


def typical(rounds: Sequence[Sequence[float]], waited: float) -> float:
    """The median of the times of all rounds; on a busy machine that of the fastest round."""
    if round(waited, _DIGITS) > BUSY:
        return min(median(block) for block in rounds)
    return median(time for block in rounds for time in block)


def sentence(shares: Sequence[float], unit: str) -> str:
    """A sentence about the shares of all `unit`; "" if the machine was quiet in all of them."""
    busy = [share for share in shares if share > BUSY]
    if not busy:
        return ""
    return (
        f"The machine was busy: in {len(busy)} of {len(shares)} {unit} an engine waited for a core "
        f"for more than {BUSY:.0%} of its time ({median(busy):.0%} in the middle, "
        f"{max(busy):.0%} at most), and the fastest block counts."
    )
