"""The command line: every module of this package contributes its tasks.

A module's `@task` functions become tasks of the same name; with `NAMESPACE = "board"` in the module
they become `board.<name>`. There is no list to edit. Modules import trimtab inside their task
bodies, so that `--list` stays fast.

This is the one place where an error becomes a message and an exit code. It holds for `./inv`,
`trimtab` and plain `invoke` alike, because it wraps the bodies of the tasks themselves.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from invoke.collection import Collection
from invoke.exceptions import Exit
from invoke.tasks import Task

from trimtab import __version__
from trimtab.cli._words import WordsProgram
from trimtab.errors import FileAccessError, TrimtabError

INTERRUPTED = 130  # what a shell reports for a process that Ctrl-C ended


def _guarded(body: Callable[..., Any]) -> Callable[..., Any]:
    """`body`, with our errors and Ctrl-C turned into a message and an exit code."""

    @functools.wraps(body)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return body(*args, **kwargs)
        except TrimtabError as error:
            raise Exit(f"error: {error}", code=error.exit_code) from None
        except KeyboardInterrupt:
            raise Exit("interrupted", code=INTERRUPTED) from None
        except BrokenPipeError:
            raise  # for `main`: Invoke's own output, such as --list, meets it as well
        except OSError as error:
            # Whoever knows the file's purpose says it better; this is for disks that are full and
            # folders that are not ours, which can happen anywhere.
            refused = FileAccessError(
                error.strerror or str(error),
                where=str(error.filename or ""),
                hint="check the path, its rights and the room on its disk",
            )
            raise Exit(f"error: {refused}", code=refused.exit_code) from None

    return guarded


def _spelled(opts: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Invoke's choice of an option's spellings, without "-": it takes that for a letter where all
    before it are taken.
    """

    def spelled(name: str, default: str, taken_names: set[str]) -> dict[str, Any]:
        found = opts(name, default, taken_names)
        taken_names.update(found["names"])
        return {**found, "names": tuple(n for n in found["names"] if n != "-")}

    return spelled


def _collect() -> Collection:
    root = Collection()
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        target = root
        if group := getattr(module, "NAMESPACE", None):
            target = root.collections.get(group) or Collection(group)
            if group not in root.collections:
                root.add_collection(target)
        for item in vars(module).values():
            # Tasks imported from a sibling (as `pre=`) belong to that sibling.
            if isinstance(item, Task) and item.__module__ == module.__name__:
                item.body = _guarded(item.body)
                item.arg_opts = _spelled(item.arg_opts)  # type: ignore[method-assign]
                target.add_task(item)
    return root


namespace = _collect()


def main() -> None:
    """Entry point of the console script `trimtab` and of `python -m trimtab.cli`."""
    warnings.formatwarning = lambda message, *_: f"warning: {message}\n"
    name = "trimtab" if Path(sys.argv[0]).name == "trimtab" else "inv"
    program = WordsProgram(name=name, binary=name, namespace=namespace, version=__version__)
    try:
        program.run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has left; without this, Python complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
