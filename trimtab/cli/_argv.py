"""Rewrites a command line into the form that Invoke parses.

`./inv report A B C` becomes `report --run A --run B --run C`. `--help` anywhere after a task asks
for that task's help, and `--plugin DIR` may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext

PLUGIN = "--plugin"


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
) -> Arguments:
    """Rewrites the words of a command line for Invoke. `core`: the options that stand before a
    task; `tasks`: the options of each task by its name.

    Words that no option and no positional argument of a task takes are values of its first
    repeatable option. A `--plugin` without a folder stays where it is: Invoke reports it.
    """
    result = Arguments([], [], {})
    context, positional = core, 0
    waiting: Argument | None = None  # the option whose value comes next
    rest = [*words]
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=")
        if word == "--":
            result.words.extend([word, *rest])
            break
        if waiting and not (waiting.optional and word.startswith("-")):
            waiting = None
        elif name == PLUGIN and (has_value or rest):
            result.plugins.append(value if has_value else rest.pop(0))
            continue
        elif context is not core and word == "--help":
            return Arguments([word, str(context.name)], result.plugins, result.old_names)
        elif word.startswith("-"):
            waiting = None
            # Not `get`: it does not know the short forms.
            if not has_value and name in context.flags and context.flags[name].takes_value:
                waiting = context.flags[name]
        elif context is core and word not in tasks and word in (renamed or {}):
            result.old_names[word] = (renamed or {})[word]
            rest.insert(0, result.old_names[word])
            continue
        elif word in tasks:
            context, waiting = tasks[word], None
            positional = sum(argument.kind is not list for argument in context.positional_args)
        elif positional:
            positional -= 1
        elif context is not core and (repeatable := _repeatable(context)):
            result.words.append(repeatable)
        result.words.append(word)
    return result


def _repeatable(context: ParserContext) -> str | None:
    return next((flag for flag, arg in context.flags.items() if arg.kind is list), None)
