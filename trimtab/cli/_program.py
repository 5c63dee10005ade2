"""The program behind `trimtab` and `./inv`: Invoke's, with plug-ins and grouped lists of tasks."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from invoke.collection import Collection
from invoke.exceptions import Exit, ParseError
from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext
from invoke.program import Program

from trimtab import escape, plugins
from trimtab.cli._argv import normalize
from trimtab.errors import TrimtabError, UsageError
from trimtab.paths import PROGRAM


class TaskIndex(Protocol):
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


class TaskProgram(Program):
    """An Invoke program whose command line is normalized first."""

    def __init__(self, tasks: TaskIndex, *, name: str, version: str) -> None:
        super().__init__(name=name, binary=name, namespace=tasks.namespace, version=version)
        self._tasks = tasks

    def core_args(self) -> list[Argument]:
        """Invoke's options, and `--plugin` for its help text: `normalize` takes it away."""
        help = "folder of a plug-in (repeatable); with any task: docs/plugins.md"
        return [*super().core_args(), Argument(name="plugin", kind=list, help=help)]

    def parse_core(self, argv: list[str] | None) -> None:
        """Normalizes the command line and uses its plug-ins, before Invoke parses it."""
        program, *words = sys.argv if argv is None else argv
        tasks = contexts(self._tasks.namespace)
        core = ParserContext(args=self.core_args())
        try:
            arguments = normalize(words, core, tasks, self._tasks.renamed, PROGRAM)
        except TrimtabError as error:
            raise Exit(escape.text(f"error: {error}"), code=error.exit_code) from None
        for old, new in arguments.old_names.items():
            warnings.warn(f"{old} is called {new} now", stacklevel=2)
        _use_plugins(arguments.plugins)
        super().parse_core([program, *arguments.words])

    def parse_tasks(self) -> None:
        """Parses the tasks; UsageError's message and exit code for a missing argument."""
        try:
            super().parse_tasks()
        except ParseError as error:
            context = error.context
            if context is None or not context.missing_positional_args:
                raise
            raise self._incomplete(context) from None

    def _incomplete(self, context: ParserContext) -> Exit:
        """The error of a task that lacks arguments: their meaning, and the complete line."""
        task = str(context.name)
        collection, _, last = task.rpartition(".")
        if collection and self._tasks.namespace.subcollection_from_path(collection).default == last:
            task = collection
        words = " ".join(str(argument.name).upper() for argument in context.positional_args)
        missing = context.missing_positional_args
        error = UsageError(
            "; ".join(f"{str(one.name).upper()} is missing: {one.help}" for one in missing),
            where=task,
            hint=f"{PROGRAM} {task} {words}",
        )
        return Exit(f"error: {error}", code=error.exit_code)

    def list_flat(self) -> None:
        """One line per task at any width of the terminal, below the titles of the groups."""
        rows = [*self._listed()]
        width = max((len(name) for _, name, _ in rows), default=0)
        blocks = []
        for title in self._tasks.titles():
            lines = [
                f"  {name:{width}}  {help}".rstrip() for group, name, help in rows if group == title
            ]
            blocks += ["\n".join([title, *lines])] if lines else []
        print("\n\n".join(blocks))

    def _listed(self) -> Iterator[tuple[str, str, str]]:
        """The group, the names and the first line of help of each task below the list's root."""
        namespace = self._tasks.namespace
        for name, aliases in sorted(namespace.task_names.items()):
            if self.list_root is None or name.startswith(f"{self.list_root}."):
                names = f"{name} ({', '.join(aliases)})" if aliases else name
                help, *_ = (namespace[name].__doc__ or "").strip().splitlines() or [""]
                yield self._tasks.groups[name], names, help


def contexts(namespace: Collection) -> dict[str, ParserContext]:
    """The options of each task, by the task's names."""
    return {
        name: context
        for context in namespace.to_contexts()
        for name in (str(context.name), *context.aliases)
    }


def _use_plugins(folders: Sequence[str]) -> None:
    """Adds plug-ins to this process, and to those that a task starts."""
    try:
        for folder in folders:
            plugins.add(folder, "--plugin")
    except TrimtabError as error:
        raise Exit(escape.text(f"error: {error}"), code=error.exit_code) from None
    if folders:
        inherited = os.environ.get("TRIMTAB_PLUGIN_PATH", "")
        absolute = [str(Path(folder).absolute()) for folder in folders]
        os.environ["TRIMTAB_PLUGIN_PATH"] = os.pathsep.join(filter(None, [*absolute, inherited]))
