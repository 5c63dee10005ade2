"""How a command line is rewritten for Invoke."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from invoke.collection import Collection
from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext

from trimtab.cli._argv import Arguments, normalize
from trimtab.cli._command import argument, command, option
from trimtab.cli._program import contexts
from trimtab.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    run: tuple[str, ...] = option("runs", ())
    output: str = option("file")
    wait: str | bool = option("wait", bare=True)
    json: bool = option("JSON", False)


@dataclass(frozen=True, kw_only=True)
class AbOptions:
    a: str = argument("A")
    input: tuple[str, ...] = option("shapes", ())


@dataclass(frozen=True, kw_only=True)
class DeliverOptions:
    model: str = option("model")
    input: tuple[str, ...] = option("shapes", ())


@command(DeliverOptions)
def deliver(options: DeliverOptions) -> None:
    """A task with an option that needs no name."""


@command(ReportOptions)
def report(options: ReportOptions) -> None:
    """A task with a repeatable option."""


@command(AbOptions)
def ab(options: AbOptions) -> None:
    """A task with a positional argument."""


TASKS = contexts(Collection(report, ab, deliver))
CORE = ParserContext(
    args=[
        Argument(names=("help", "h"), optional=True),
        Argument(names=("config", "f")),
        Argument(name="plugin", kind=list),
    ]
)


def words(*line: str) -> list[str]:
    return normalize(line, CORE, TASKS).words


def test_words_that_no_option_takes_belong_to_the_repeatable_option() -> None:
    assert words("report", "x", "y") == ["report", "--run", "x", "--run", "y"]
    assert words("report", "--run", "x", "y") == ["report", "--run", "x", "--run", "y"]
    assert words("report", "--json", "x") == ["report", "--json", "--run", "x"]


def test_a_value_of_an_option_stays_with_it() -> None:
    assert words("report", "--output", "x", "y") == ["report", "--output", "x", "--run", "y"]
    assert words("report", "-o", "x") == ["report", "-o", "x"]
    assert words("report", "--output=x", "y") == ["report", "--output=x", "--run", "y"]
    assert words("report", "--wait", "--json") == ["report", "--wait", "--json"]
    assert words("report", "--wait", "7") == ["report", "--wait", "7"]


def test_positional_arguments_come_first() -> None:
    assert words("ab", "x", "y") == ["ab", "x", "--input", "y"]


def test_a_model_needs_no_option_but_is_one_alone() -> None:
    assert words("deliver", "net") == ["deliver", "--model", "net"]
    assert words("deliver", "net", "-i", "x=1") == ["deliver", "--model", "net", "-i", "x=1"]
    for line in (("net", "other"), ("-m", "net", "other"), ("--model=net", "other")):
        with pytest.raises(UsageError, match="no option takes 'other'"):
            words("deliver", *line)
    assert words("deliver", "a", "deliver", "b")[2:] == ["a", "deliver", "--model", "b"]


def test_an_argument_may_be_called_like_a_task() -> None:
    assert words("ab", "report", "report") == ["ab", "report", "report"]


def test_several_tasks_stand_in_one_line() -> None:
    assert words("report", "x", "ab", "y") == ["report", "--run", "x", "ab", "y"]


@pytest.mark.parametrize("line", [("ab", "--help"), ("ab", "x", "--help")])
def test_help_after_a_task_is_help_for_it(line: tuple[str, ...]) -> None:
    assert words(*line) == ["--help", "ab"]


def test_help_as_the_value_of_an_option_is_a_value() -> None:
    assert words("report", "--output", "--help") == ["report", "--output", "--help"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (("reprot", "x"), "there is no task 'reprot'\n  next: did you mean report? All: t --list"),
        (("report", "--jsno"), "report: there is no option --jsno\n  next: did you mean --json?"),
        (("report", "--output"), "report: --output needs a value\n  next: t report --help"),
        (("report", "-o"), "report: -o needs a value"),
        (("report", "--output", "--run=x"), "report: --output needs a value"),
        (("ab", "x", "--plugin"), "ab: --plugin needs a value\n  next: t ab --help"),
        (("--confg", "x", "ab"), "there is no option --confg\n  next: did you mean --config?"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_was_meant(
    line: tuple[str, ...], error: str
) -> None:
    with pytest.raises(UsageError) as caught:
        normalize(line, CORE, TASKS, program="t")
    assert str(caught.value).startswith(error)


def test_words_before_a_task_stay() -> None:
    assert words("-f", "report", "--help", "ab") == ["-f", "report", "--help", "ab"]


def test_everything_after_two_dashes_stays() -> None:
    assert words("report", "--", "x", "--help") == ["report", "--", "x", "--help"]


def test_plugins_may_stand_anywhere() -> None:
    line = ("--plugin", "p", "ab", "--plugin=q", "x", "--plugin", "r")
    assert normalize(line, CORE, TASKS) == Arguments(["ab", "x"], ["p", "q", "r"], {})


def test_a_plugin_as_the_value_of_an_option_is_a_value() -> None:
    line = ["report", "--output", "--plugin", "x"]
    assert normalize(line, CORE, TASKS).words == ["report", "--output", "--plugin", "--run", "x"]


def test_an_old_name_of_a_task_becomes_the_new_one() -> None:
    renamed = {"table": "report"}
    result = normalize(["table", "x"], CORE, TASKS, renamed)
    assert result.words == ["report", "--run", "x"]
    assert result.old_names == {"table": "report"}


def test_an_old_name_may_become_a_task_with_an_option() -> None:
    result = normalize(["table", "x"], CORE, TASKS, {"table": "report --output y"})
    assert result.words == ["report", "--output", "y", "--run", "x"]
