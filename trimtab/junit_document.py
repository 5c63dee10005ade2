"""JUnit XML, which CI systems show as tests.

Schema: https://github.com/testmoapp/junitxml, which Jenkins, GitLab and GitHub's actions agree on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from xml.etree import ElementTree

from trimtab import escape

Outcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """A test: what it checks, its outcome, and a text that explains the outcome."""

    name: str
    outcome: Outcome = "passed"
    text: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Suite:
    """Cases of one subject, which is the class name of each. `time` is in ISO 8601, or ""."""

    name: str
    cases: Sequence[Case]
    properties: Mapping[str, str] = field(default_factory=dict)
    time: str = ""


def document(suites: Sequence[Suite]) -> str:
    """The XML of the suites, with a newline at the end."""
    root = ElementTree.Element("testsuites", name="trimtab")
    for suite in suites:
        _add_suite(root, suite)
    _count(root)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(root: ElementTree.Element, suite: Suite) -> None:
    element = ElementTree.SubElement(root, "testsuite", name=escape.xml(suite.name))
    if timestamp := _timestamp(suite.time):
        element.set("timestamp", timestamp)
    properties = ElementTree.SubElement(element, "properties")
    for name, value in suite.properties.items():
        ElementTree.SubElement(
            properties, "property", name=escape.xml(name), value=escape.xml(value)
        )
    for case in suite.cases:
        about = {"classname": escape.xml(suite.name), "name": escape.xml(case.name)}
        _explain(ElementTree.SubElement(element, "testcase", about), case)
    _count(element)


def _explain(element: ElementTree.Element, case: Case) -> None:
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.9f}")
    if case.outcome != "passed":
        outcome = ElementTree.SubElement(element, case.outcome, message=escape.xml(case.text))
        outcome.text = escape.xml(case.text)
    elif case.text:
        ElementTree.SubElement(element, "system-out").text = escape.xml(case.text)


def _timestamp(time: str) -> str:
    """A time in ISO 8601 to the second, as the schema asks; "" for any other text."""
    try:
        return datetime.fromisoformat(time).isoformat(timespec="seconds")[:19]
    except ValueError:
        return ""


def _count(element: ElementTree.Element) -> None:
    element.set("tests", str(len(element.findall(".//testcase"))))
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        element.set(name, str(len(element.findall(f".//{tag}"))))
