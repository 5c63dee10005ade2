"""JUnit XML, which CI systems show as tests: one suite per run.

The cases of a suite: the run came to its end, the output is right, and, in a comparison, the run is
not slower than the first one. The last case fails if the difference is real, and is skipped if it
cannot be decided, as for runs from separate measurements. Figures are properties of the suite.
Schema: https://github.com/testmoapp/junitxml, which Jenkins, GitLab and GitHub's actions agree on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from xml.etree import ElementTree

from trimtab import escape
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import exchange, fmt
from trimtab.results.records import Status
from trimtab.results.statistics import Ratio
from trimtab.results.summary import Summary, Unit

SUFFIX = ".xml"
IS_WHOLE = False

# The tag of a run without success; any other status is a failure.
_TAGS = {Status.INFRA: "error", Status.SKIPPED: "skipped"}


def run(summary: Summary) -> str:
    """One suite."""
    return _suites([summary], [None])


def comparison(comparison: Comparison) -> str:
    """A suite for each run; the runs after the first are compared with it."""
    key = next((r.headline.key for r in comparison.runs if r.headline), "")
    row = next((row for row in comparison.rows if row.key == key), None)
    ratios: Sequence[Ratio | None] = row.ratios if row else [None] * (len(comparison.runs) - 1)
    return _suites(comparison.runs, [None, *ratios])


def _suites(runs: Sequence[Summary], ratios: Sequence[Ratio | None]) -> str:
    root = ElementTree.Element("testsuites", name="trimtab")
    named = exchange.named(runs)
    for (name, summary), ratio in zip(named, ratios, strict=True):
        suite = ElementTree.SubElement(root, "testsuite", name=escape.xml(name))
        _properties(suite, summary)
        _add_completion(suite, name, summary)
        if summary.golden != "not checked" or summary.status is Status.OK:
            case = _case(suite, name, "the output is right")
            _add_text(case, "system-out", summary.golden)
        if summary is not runs[0]:
            _add_comparison(suite, name, summary, named[0][0], ratio)
        if timestamp := _timestamp(summary.header.time):
            suite.set("timestamp", timestamp)
        _count(suite)
    _count(root)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _timestamp(time: str) -> str:
    """A time in ISO 8601 to the second, as the schema asks; "" for any other text."""
    try:
        return datetime.fromisoformat(time).isoformat(timespec="seconds")[:19]
    except ValueError:
        return ""


def _properties(suite: ElementTree.Element, summary: Summary) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    facts = dict(exchange.facts(summary))
    for one in exchange.measures(summary):
        facts[f"{one.name} ({one.unit})"] = f"{one.value:.15g}"
    for name, value in facts.items():
        ElementTree.SubElement(
            properties, "property", name=escape.xml(name), value=escape.xml(value)
        )


def _add_completion(suite: ElementTree.Element, name: str, summary: Summary) -> None:
    latency = summary.figure("latency")
    case = _case(suite, name, "the run came to its end")
    if latency:
        case.set("time", f"{latency.value / 1e9:.9f}")
    if summary.status is not Status.OK:
        _add_text(
            case, _TAGS.get(summary.status, "failure"), f"{summary.status}: {summary.message}"
        )


def _add_comparison(
    suite: ElementTree.Element, name: str, summary: Summary, first: str, ratio: Ratio | None
) -> None:
    case = _case(suite, name, f"it is not slower than {first}")
    unit = summary.headline.unit if summary.headline else Unit.NS
    if ratio is None or ratio.is_real is None:
        reason = "the runs are from separate measurements" if ratio else "no common figure"
        _add_text(case, "skipped", f"{fmt.ratio(ratio, unit)}: {reason}")
    elif ratio.is_real and ratio.value > 1:
        _add_text(case, "failure", fmt.ratio(ratio, unit))
    else:
        _add_text(case, "system-out", fmt.ratio(ratio, unit))


def _case(suite: ElementTree.Element, network: str, what: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", classname=escape.xml(network), name=escape.xml(what)
    )


def _add_text(case: ElementTree.Element, tag: str, text: str) -> None:
    element = ElementTree.SubElement(case, tag)
    if tag != "system-out":
        element.set("message", escape.xml(text))
    element.text = escape.xml(text)


def _count(element: ElementTree.Element) -> None:
    element.set("tests", str(len(element.findall(".//testcase"))))
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        element.set(name, str(len(element.findall(f".//{tag}"))))
