"""Rewrites a command line into the form that Invoke parses.

`./inv report A B C` becomes `report --run A --run B --run C`. `--help` anywhere after a task asks
for that task's help, and `--plugin DIR` may stand anywhere.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from invoke.parser.context import ParserContext

from trimtab.errors import UsageError

PLUGIN = "--plugin"
_MAIN = ("model", "query")  # what a task is about, though it is not repeatable


@dataclass(frozen=True)
class Arguments:
    """`words`: for Invoke, without the program's name; `plugins`: the folders of `--plugin`;
    `old_names`: the tasks that were called by an old name, with the new one.
    """

    words: list[str]
    plugins: list[str]
    old_names: dict[str, str]


def normalize(
    words: Sequence[str],
    core: ParserContext,
    tasks: Mapping[str, ParserContext],
    renamed: Mapping[str, str] | None = None,
    program: str = "trimtab",
) -> Arguments:
    """Rewrites the words of a command line for Invoke. `core`: the options that stand before a
    task; `tasks`: the options of each task by its name; `program`: what the user starts, for hints.

    Words that no option and no positional argument of a task takes are values of its first option
    that is repeatable, or that is `--model` and has no value yet. UsageError for a task or an
    option that does not exist, and for a value that is missing, superfluous or no number.
    """
    checks = _Checks(core, program)
    result = Arguments([], [], {})
    context, positional = core, 0
    waiting = ""  # the option whose value comes next
    used: set[str] = set()  # the names of the options of the task so far
    rest = [*words]
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=")
        if word == "--":
            result.words.extend([word, *rest])
            break
        if waiting and not _stands_alone(waiting, word, context):
            checks.value(waiting, word, context)
            waiting = ""
        elif name == PLUGIN:
            if not (has_value or rest):
                raise checks.missing(PLUGIN)
            result.plugins.append(value if has_value else rest.pop(0))
            continue
        elif context is not core and word == "--help":
            return Arguments([word, str(context.name)], result.plugins, result.old_names)
        elif word.startswith("-"):
            checks.option(name, context)
            waiting = ""
            # Not `get`: it does not know the short forms.
            if name in context.flags:
                used.add(str(context.flags[name].name))
            if name in context.flags and context.flags[name].takes_value:
                if has_value:
                    checks.value(name, value, context)
                else:
                    waiting = name
        elif context is core and word not in tasks and word in (renamed or {}):
            result.old_names[word] = (renamed or {})[word]
            rest[:0] = result.old_names[word].split()
            continue
        elif word in tasks and not positional:  # a sweep may be called `demo`
            context, waiting, checks = tasks[word], "", replace(checks, task=word)
            used.clear()
            positional = sum(argument.kind is not list for argument in context.positional_args)
        elif positional:
            positional -= 1
        elif context is core:
            raise checks.unknown_task(word, tasks)
        elif main := _main_option(context, used):
            result.words.append(main)
        else:
            raise checks.error(f"no option takes {word!r}")
        result.words.append(word)
    if waiting and not context.flags[waiting].optional:
        raise checks.missing(waiting)
    return result


def _stands_alone(option: str, word: str, context: ParserContext) -> bool:
    """Whether an option whose value may be left out is followed by `word`, which is no value."""
    return bool(context.flags[option].optional) and word.startswith("-")


def _main_option(context: ParserContext, used: set[str]) -> str | None:
    """The option that takes words without one; adds it to the `used` ones."""
    for flag, argument in context.flags.items():
        name = str(argument.name)
        if argument.kind is list or name in _MAIN:
            if argument.kind is not list and name in used:
                return None
            used.add(name)
            return str(flag)
    return None


@dataclass(frozen=True)
class _Checks:
    """Finds errors of a command line that Invoke reports without a hint, or not at all."""

    core: ParserContext
    program: str
    task: str = ""

    def option(self, name: str, context: ParserContext) -> None:
        """UsageError for an unknown long option; Invoke splits the short ones."""
        flags = [*context.flags, *context.inverse_flags]
        if name.startswith("--") and name not in [*flags, *self.core.flags]:
            near = difflib.get_close_matches(name, flags, 1)
            raise self.error(f"there is no option {name}", near)

    def value(self, option: str, value: str, context: ParserContext) -> None:
        """UsageError if an option stands in place of a value, or if it is not the number it must
        be.
        """
        if value.startswith("--") and value.partition("=")[0] in context.flags:
            raise self.missing(option)
        kind = context.flags[option].kind
        try:
            if kind in (int, float):
                kind(value)
        except ValueError:
            number = "a whole number" if kind is int else "a number"
            raise self.error(f"{option} must be {number}, not {value!r}") from None

    def missing(self, option: str) -> UsageError:
        """The error of an option at whose value the line ends."""
        return self.error(f"{option} needs a value")

    def unknown_task(self, word: str, tasks: Iterable[str]) -> UsageError:
        """The error of a word that is no task."""
        near = difflib.get_close_matches(word, tasks, 1)
        return self.error(f"there is no task {word!r}", near)

    def error(self, what: str, near: Sequence[str] = ()) -> UsageError:
        """UsageError for a line of the task, or for one without a task; `near`: what was meant."""
        every = f"{self.program} {self.task} --help" if self.task else f"{self.program} --list"
        meant = f"did you mean {near[0]}? All: " if near else ""
        return UsageError(what, where=self.task, hint=meant + every)
