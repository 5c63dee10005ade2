"""The command line: every module of this package contributes its tasks.

A module's `@command` functions (see `_command`) become tasks of the same name; with
`NAMESPACE = "board"` in the module they become `board.<name>`. `GROUP` is the title they are listed
under, one of `GROUPS`. Modules are found by iterating over the package. They import trimtab inside
their task bodies, so that `--list` stays fast.

This is the one place where an error becomes a message and an exit code. It holds for `./inv`,
`trimtab` and plain `invoke` alike, because it wraps the bodies of the tasks themselves.
"""

from __future__ import annotations

import copy
import functools
import importlib
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from invoke.collection import Collection
from invoke.exceptions import Exit
from invoke.tasks import Task

from trimtab import __version__, escape
from trimtab.cli._output import escape_output
from trimtab.cli._program import TaskProgram
from trimtab.errors import FileAccessError, TrimtabError
from trimtab.paths import PROGRAM

INTERRUPTED = 130  # what a shell reports for a process that Ctrl-C ended

GROUPS = ("Build", "Measure", "Compare and report", "Devices", "Plug-ins", "Set up")
"""Titles in the order of `--list`; titles of other groups follow these."""


@dataclass(frozen=True)
class Tasks:
    """All tasks of a command line.

    `groups`: the title of each task's group, by the task's full name. `renamed`: old names, which
    still work, with the new ones and their options.
    """

    namespace: Collection = field(default_factory=Collection)
    groups: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def add(
        self, module: ModuleType, title: str, prepare: Callable[[], None] | None = None
    ) -> None:
        """Adds the tasks that a module defines, in a group of that title. `prepare` runs before
        the body of each of them.
        """
        prefix, target = "", self.namespace
        if group := getattr(module, "NAMESPACE", ""):
            prefix = f"{group}."
            if group not in self.namespace.collections:
                self.namespace.add_collection(Collection(group))
            target = self.namespace.collections[group]
        for item in vars(module).values():
            # A task imported from a sibling (for `pre=`) belongs to that sibling.
            if isinstance(item, Task) and item.__module__ == module.__name__:
                task = copy.copy(item)
                task.body = with_messages(task.body, prepare)
                target.add_task(task)
                self.groups[prefix + target.transform(task.name)] = title
        self.renamed.update(getattr(module, "RENAMED", {}))

    def titles(self) -> list[str]:
        """Titles of the groups in the order of `--list`."""
        order = dict.fromkeys([*GROUPS, *self.groups.values()])
        return [title for title in order if title in self.groups.values()]


def with_messages(
    body: Callable[..., Any], prepare: Callable[[], None] | None = None
) -> Callable[..., Any]:
    """`prepare` and `body`, with our errors and Ctrl-C turned into a message and an exit code."""

    @functools.wraps(body)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            if prepare:
                prepare()
            return body(*args, **kwargs)
        except TrimtabError as error:
            raise Exit(escape.text(f"error: {error}"), code=error.exit_code) from None
        except KeyboardInterrupt as stopped:
            raise Exit(": ".join(("interrupted", *stopped.args)), code=INTERRUPTED) from None
        except BrokenPipeError:
            raise  # `main` handles it: Invoke's own output, such as --list, raises it as well
        except OSError as error:
            # A full disk or a folder without write permission can occur anywhere; code that knows
            # what the file is for reports it better.
            refused = FileAccessError(
                error.strerror or str(error),
                where=str(error.filename or ""),
                hint="check the path, its permissions and the free space on its disk",
            )
            raise Exit(escape.text(f"error: {refused}"), code=refused.exit_code) from None

    return guarded


def modules() -> Iterator[ModuleType]:
    """The modules of this package that contribute tasks."""
    for info in pkgutil.iter_modules(__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{__name__}.{info.name}")


def collect(
    developers: Iterable[ModuleType] = (), prepare: Callable[[], None] | None = None
) -> Tasks:
    """The users' tasks and, in a last group, those of `developers`, before which `prepare` runs."""
    tasks = Tasks()
    for module in modules():
        tasks.add(module, getattr(module, "GROUP", "Other"))
    for module in developers:
        tasks.add(module, "Developers' tasks", prepare)
    return tasks


namespace = collect().namespace
"""The users' tasks, for `invoke` as a library."""


def main(developers: Iterable[ModuleType] = (), prepare: Callable[[], None] | None = None) -> None:
    """Entry point of the console script `trimtab`; `./inv` adds the developers' tasks, and
    `prepare`, which runs before these.
    """
    warnings.formatwarning = lambda message, *_: escape.text(f"warning: {message}\n")
    escape_output()
    name = Path(PROGRAM).name
    program = TaskProgram(collect(developers, prepare), name=name, version=__version__)
    try:
        program.run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has closed the pipe; without this, Python complains again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
