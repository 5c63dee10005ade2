"""The status and the number of figures, in a line."""

from trimtab.compare.side_by_side import Comparison
from trimtab.results.summary import Summary

SUFFIX = ".txt"
IS_WHOLE = False


def run(summary: Summary) -> str:
    """The line of one run."""
    return f"one line: {summary.status}, {len(summary.figures)} figures\n"


def comparison(comparison: Comparison) -> str:
    """A line for each."""
    return "".join(run(summary) for summary in comparison.runs)
