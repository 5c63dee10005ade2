"""Numbers and words that a device prints, which may be anything.

Everything that is made of a device's output passes here or a regular expression with limits.
"""

from __future__ import annotations

import re

MOST_DIGITS = 18  # below 2**63


def number(text: str, least: int = -(10**MOST_DIGITS) + 1) -> int | None:
    """The integer that `text` is, within 18 digits; None for anything else, or below `least`."""
    if not re.fullmatch(rf"-?[0-9]{{1,{MOST_DIGITS}}}", text):
        return None
    value = int(text)
    return value if value >= least else None


def facts(lines: list[str], keys: tuple[str, ...], most: int = 200) -> dict[str, str]:
    """The values of KEY=VALUE lines: the first of each of `keys`, cut after `most` letters."""
    values: dict[str, str] = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if equals and key in keys:
            values.setdefault(key, value[:most])
    return values
