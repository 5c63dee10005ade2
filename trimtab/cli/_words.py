"""`./inv report A B C`: several words for one option, which Invoke itself cannot parse.

Invoke wants `--run A --run B --run C`. The words that follow a task are rewritten to that, if the
task has an option that may be repeated and all its positional arguments are given.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from invoke.collection import Collection
from invoke.exceptions import ParseError
from invoke.parser import Parser
from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext
from invoke.program import Program

from trimtab import plugins


def spread(words: Sequence[str], tasks: Mapping[str, ParserContext]) -> list[str]:
    """`words` of a command line, with an option in front of each word that belongs to it."""
    spelled: list[str] = []
    task: ParserContext | None = None
    is_value = is_optional = False
    positional = 0
    for word in words:
        if is_value and not (is_optional and word.startswith("-")):
            is_value = False
        elif word in tasks:
            task = tasks[word]
            positional = sum(arg.kind is not list for arg in task.positional_args)
        elif task and word.startswith("-"):
            name, has_value, _ = word.partition("=")
            # Not `get`: it does not know the short spellings.
            is_value = name in task.flags and task.flags[name].takes_value and not has_value
            is_optional = is_value and task.flags[name].optional
        elif positional:
            positional -= 1
        elif task and (option := _repeatable(task)):
            spelled.append(option)
        spelled.append(word)
    return spelled


def without_plugins(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """`words` without `--plugin DIR`, which Invoke takes for a positional argument that is due; and
    the folders. ParseError where one is missing.
    """
    rest: list[str] = []
    folders: list[str] = []
    waiting = iter(words)
    for word in waiting:
        name, has_value, folder = word.partition("=")
        if name != "--plugin":
            rest.append(word)
        elif has_value or (folder := next(waiting, "")):
            folders.append(folder)
        else:
            raise ParseError("--plugin needs a folder")
    return rest, folders


def _repeatable(task: ParserContext) -> str | None:
    return next((flag for flag, arg in task.flags.items() if arg.kind is list), None)


class Listed(Protocol):
    """The tasks of a command line: see `trimtab.cli.Tasks`."""

    @property
    def namespace(self) -> Collection:
        """The tasks themselves."""

    @property
    def groups(self) -> Mapping[str, str]:
        """The title of each task's group, by the task's full name."""

    @property
    def renamed(self) -> Mapping[str, str]:
        """Old names of tasks, with the new ones."""

    def titles(self) -> Sequence[str]:
        """Titles of the groups in the order of `--list`."""


class WordsProgram(Program):
    """An Invoke program that accepts several words for one option, and lists tasks in groups."""

    _one_parser: Parser | None = None

    def __init__(self, tasks: Listed, *, name: str, version: str) -> None:
        super().__init__(name=name, binary=name, namespace=tasks.namespace, version=version)
        self._tasks = tasks
        self._plugins: list[str] = []

    def _make_parser(self) -> Parser:
        """Once: Invoke takes the help of a task's options away when it hands them to a parser."""
        if self._one_parser is None:
            self._one_parser = super()._make_parser()
        return self._one_parser

    def parse_tasks(self) -> None:
        """Spread the words, then parse as Invoke does, but that takes the `--help` of `TASK --help`
        for an argument of the task.
        """
        words, tasks = self._with_new_names(self.core.unparsed), self._make_parser().contexts
        if words and words[0] in tasks and "--help" in words:
            self.args["help"].value, words = tasks[words[0]].name, []
        words, self._plugins = without_plugins(words)
        self.core.unparsed = spread(words, tasks)
        try:
            super().parse_tasks()
        except ValueError as error:  # of a number's own type: Invoke does not say which option
            raise ParseError(f"a number is expected: {error}") from None
        self._use_plugins()

    def _with_new_names(self, words: Sequence[str]) -> list[str]:
        """`words`, of which the first is replaced where it is an old name of a task."""
        if words and (new := self._tasks.renamed.get(words[0])):
            warnings.warn(f"{words[0]} is called {new} now", stacklevel=2)
            return [new, *words[1:]]
        return [*words]

    def core_args(self) -> list[Argument]:
        """Invoke's own, and those that every task of ours takes."""
        help = "folder of a plug-in (repeatable); with any task: docs/plugins.md"
        return [*super().core_args(), Argument(name="plugin", kind=list, help=help)]

    def _use_plugins(self) -> None:
        given = [*self.args.plugin.value, *self._plugins]
        for folder in given:
            plugins.add(folder, "--plugin")
        if given:  # for processes that a task starts
            known = [os.environ.get("TRIMTAB_PLUGIN_PATH", "")]
            folders = [str(Path(folder).absolute()) for folder in given]
            os.environ["TRIMTAB_PLUGIN_PATH"] = os.pathsep.join(filter(None, folders + known))

    def list_flat(self) -> None:
        """A line per task, whatever the width of the terminal, below the titles of the groups."""
        pairs = self._make_pairs(self.scoped_collection)
        width = max(len(name) for name, _ in pairs)
        groups: dict[str, list[str]] = {title: [] for title in self._tasks.titles()}
        for name, text in pairs:
            title = self._tasks.groups.get(name.partition(" ")[0].strip(), "")
            groups.setdefault(title, []).append(f"  {name:{width}}  {text or ''}".rstrip())
        blocks = ["\n".join([title, *lines]) for title, lines in groups.items() if lines]
        print("\n\n".join(blocks))
