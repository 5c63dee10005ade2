"""The lists of tasks: the users' groups, the developers' tasks, and renamed tasks."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import lab
from trimtab import cli

USERS = cli.collect()
ALL = cli.collect(lab.modules("tasks"))
DEVELOPERS = "Developers' tasks"


def listed(*command: str) -> dict[str, list[str]]:
    """The tasks of each group of `--list`, by its title."""
    argv = [sys.executable, "-P", "-m", *command, "--list"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    groups = {}
    for block in done.stdout.strip().split("\n\n"):
        title, *lines = block.splitlines()
        groups[title] = [line.split()[0] for line in lines]
    return groups


def test_an_installed_trimtab_has_few_tasks_in_titled_groups() -> None:
    groups = listed("trimtab.cli")
    assert [*groups] == list(cli.GROUPS)
    assert sum(map(len, groups.values())) <= 34  # a screen


def test_a_checkout_lists_the_developers_tasks_last_and_apart() -> None:
    groups = listed("lab")
    developers = groups.pop(DEVELOPERS)
    assert [*groups] == list(cli.GROUPS)
    assert groups == listed("trimtab.cli")
    assert {"lint", "test", "docs", "bench.peers"} <= {*developers}


def test_every_task_of_a_module_is_in_the_group_of_the_module() -> None:
    assert USERS.groups.keys() == set(USERS.namespace.task_names)
    assert set(USERS.groups.values()) == {*cli.GROUPS}
    added = ALL.groups.keys() - USERS.groups.keys()
    assert {ALL.groups[name] for name in added} == {DEVELOPERS}


def test_the_laboratory_replaces_no_task_of_a_user() -> None:
    own = cli.Tasks()
    for module in lab.modules("tasks"):
        own.add(module, DEVELOPERS)
    assert not own.groups.keys() & USERS.groups.keys()


@pytest.mark.parametrize(("old", "new"), sorted(ALL.renamed.items()))
def test_an_old_name_of_a_task_works_with_a_hint(old: str, new: str) -> None:
    assert new.split(maxsplit=1)[0] in ALL.groups
    assert old not in ALL.groups
    argv = [sys.executable, "-P", "-m", "lab", old, "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    assert f"warning: {old} is called {new} now" in done.stderr
    assert re.search(r"\bOptions:", done.stdout)
