"""The verdicts over commits in the forms that CI systems show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.hostile_text import ALL, check_displayed, check_markdown
from trimtab.errors import UsageError
from trimtab.results.index import Entry
from trimtab.sweep import check_report
from trimtab.sweep.history import Point, Series
from trimtab.sweep.regressions import RegressionCheck

RUN = Entry("a.jsonl", "id", "", "OK", "net", "tiny", "host", "pi4", 1, 1, "", 0, None, "")


def points(subject: str = "faster loops") -> tuple[Point, Point]:
    return (
        Point("a" * 40, "2026-01-01T00:00:00+00:00", "first", 100.0, RUN),
        Point("b" * 40, "2026-01-02T00:00:00+00:00", subject, 120.0, RUN),
    )


def checks(name: str = "net size", subject: str = "faster loops") -> list[RegressionCheck]:
    """One figure is worse, one is not, and one could not be checked."""
    old, new = points(subject)
    series = Series(name, "binary_bytes", "pi4", (old, new), ())
    latency = replace(series, figure="latency_ns")
    return [
        RegressionCheck(series, old, 1.2, True, "exact"),
        RegressionCheck(replace(series, figure="model_bytes"), old, 1.0, False, "exact"),
        RegressionCheck(latency, old, None, False, "not checked: no longer archived"),
    ]


def rendered(form: str, these: list[RegressionCheck]) -> str:
    return check_report.render(form, [one.series for one in these], these)


@pytest.mark.parametrize("form", ["terminal", "markdown", "junit", "github"])
def test_every_form_names_the_commit_that_is_judged_and_the_one_before(form: str) -> None:
    text = rendered(form, checks())
    assert "b" * 10 in text
    assert "a" * 10 in text
    assert "faster loops" in text
    assert "1.2" in text


def test_junit_has_a_test_for_each_figure() -> None:
    (suite,) = ElementTree.fromstring(rendered("junit", checks())).findall("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    worse, same, unknown = suite.findall("testcase")
    assert worse.get("classname") == "net size"
    assert worse.get("name") == "binary_bytes is not worse than at aaaaaaaaaa"
    assert [child.tag for child in worse] == ["failure"]
    assert [child.tag for child in same] == ["system-out"]
    assert [child.tag for child in unknown] == ["error"]
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties == {"commit": "b" * 40, "subject": "faster loops"}


@pytest.mark.parametrize("form", ["terminal", "markdown", "junit"])
def test_exact_figures_have_their_values_and_times_only_their_ratio(form: str) -> None:
    old, new = points()
    size = Series("net", "binary_bytes", "pi4", (replace(old, value=70_000.0), new), ())
    time = replace(size, figure="latency_ns")
    for series, is_shown in ((size, True), (time, False)):
        text = rendered(form, [RegressionCheck(series, series.points[0], 1.5, True, "measured")])
        assert ("70,000" in text) is is_shown
        assert ("120" in text.replace("20260102", "")) is is_shown
        assert "1.5000" in text


def test_figures_that_are_worse_come_first() -> None:
    rows = rendered("terminal", checks()[::-1]).splitlines()[4:]
    assert ["worse" in row for row in rows] == [True, False, False]


def test_markdown_begins_with_the_verdict() -> None:
    title = rendered("markdown", checks()).splitlines()[0]
    assert title == "## 1 of 3 figures are worse: commit bbbbbbbbbb (faster loops)"
    assert rendered("markdown", checks()[1:2]).startswith("## 1 figures are not worse: commit b")
    assert rendered("markdown", checks()[2:]).startswith("## 1 of 1 figures could not be checked")
    first = [Series("net", "binary_bytes", "pi4", points()[:1], ())]
    assert "There is only one commit" in check_report.render("markdown", first, [])
    assert ElementTree.fromstring(check_report.render("junit", first, [])).get("tests") == "0"


@pytest.mark.parametrize("form", ["terminal", "markdown", "junit"])
def test_subjects_of_commits_and_names_of_cells_are_text(form: str) -> None:
    text = rendered(form, checks(ALL, ALL))
    check_displayed(text)
    if form == "markdown":
        assert check_markdown(text).names == check_markdown(rendered(form, checks())).names
    if form == "junit":
        assert len(ElementTree.fromstring(text).findall("testsuite/testcase")) == 3


def test_an_unknown_form_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="unknown format 'pdf'") as refused:
        check_report.check_format("pdf")
    assert refused.value.hint == "one of: terminal, markdown, junit, github"
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    with pytest.raises(UsageError, match="not a job of GitHub"):
        check_report.check_format("github")


def test_a_job_appends_its_verdict_to_the_summary_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "summary.md"
    step.write_text("from an earlier step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    check_report.check_format("github")
    these = checks()
    table = rendered("terminal", these)
    series = [one.series for one in these]
    assert check_report.publish("github", "", series, these) == table
    assert step.read_text() == f"from an earlier step\n{rendered('github', these)}"
    junit = tmp_path / "check.xml"
    assert check_report.publish("junit", str(junit), series, these) == table
    assert junit.read_text() == rendered("junit", these)
    assert check_report.publish("markdown", "", series, these) == rendered("markdown", these)
