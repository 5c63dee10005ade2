"""The status and the number of figures, in a line."""

from trimtab.bench.summary import Comparison, Summary

SUFFIX = ".txt"
IS_WHOLE = False


def run(summary: Summary) -> str:
    """The line of one run."""
    return f"one line: {summary.status}, {len(summary.figures)} figures\n"


def comparison(comparison: Comparison) -> str:
    """A line for each."""
    return "".join(run(summary) for summary in comparison.runs)
