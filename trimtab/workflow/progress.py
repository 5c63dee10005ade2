"""What is said while long work goes on."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line of progress; standard output belongs to the result."""
    print(text, file=sys.stderr, flush=True)
