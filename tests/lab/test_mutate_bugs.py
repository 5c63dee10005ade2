"""Planted bugs: every kind that each language has."""

from __future__ import annotations

import ast

from lab.mutate import cpp_bugs, python_bugs, shell_bugs
from lab.mutate.mutants import KINDS, Mutant

PYTHON = '''"""A docstring with 1 < 2."""

@dataclass(frozen=True)
class Thing:
    count: int = 3

def of(a: int, b: list[int], é=False) -> int:
    """Has 4 < 5."""
    if a < len(b) and not é:
        raise ValueError("less than 7")
    b.append(min(a, 2.5))
    progress.note("8 < 9")
    return b[a - 1] + a if a in b else f"{a + 6}"
'''


def changes(mutants: list[Mutant], source: str) -> set[tuple[str, str, str]]:
    """(kind, before, after) of each mutant, where only the changed words differ."""
    return {(one.kind, source[one.start : one.end], one.text) for one in mutants}


def test_every_kind_of_bug_is_planted_in_python_and_words_stay() -> None:
    mutants = python_bugs.find("a.py", PYTHON)
    assert changes(mutants, PYTHON) == {
        ("constant", "3", "4"),
        ("constant", "False", "True"),
        ("check", "a < len(b) and not é", "False"),
        ("bound", "<", "<="),
        ("comparison", "<", ">="),
        ("logic", "and", "or"),
        ("logic", "not é", "(é)"),
        ("step", "b.append(min(a, 2.5))", "pass"),
        ("choice", "min", "max"),
        ("constant", "2.5", "6.0"),
        ("bound", " - 1", ""),
        ("arithmetic", "-", "+"),
        ("constant", "1", "2"),
        ("arithmetic", "+", "-"),
        ("comparison", "in", "not in"),
    }
    assert {one.kind for one in mutants} == set(KINDS)
    for one in mutants:
        assert ast.dump(ast.parse(one.applied(PYTHON))) != ast.dump(ast.parse(PYTHON))
        assert one.before(PYTHON) != one.after(PYTHON)


CPP = """#include "a < b.h"
// a < b
template <int n = 4>
int Of(const std::vector<int>& values, int a) {
  if (a < 0 || !values.empty()) return -1;
  const char* text = "7 < 8";  // 5 > 3
  return std::min(a + 1, values[a] * 2);
}
"""


def test_every_kind_of_bug_is_planted_in_cpp_outside_of_comments_and_texts() -> None:
    assert changes(cpp_bugs.find("a.cpp", CPP), CPP) == {
        ("bound", " < ", " <= "),
        ("comparison", " < ", " >= "),
        ("constant", "0", "1"),
        ("logic", " || ", " && "),
        ("logic", "!", ""),
        ("check", "a < 0 || !values.empty()", "false"),
        ("choice", "std::min(", "std::max("),
        ("bound", " + 1", ""),
        ("constant", "1", "2"),
        ("arithmetic", " * ", " / "),
        ("constant", "2", "3"),
    }


SHELL = """#!/bin/sh
# 1 && 2
count=0; some=1
while [ "$count" -lt 3 ] && [ -e "$1" ]; do
  count=$((count+1))
  rm -f "$1/old"  # -eq 4
  mv "$1" "${2%/*}" 2>/dev/null
done
if [ "$2" = none ]; then exit 81; fi
printf '%s 5\\n' "$count" >&2 || exit 1
"""


def test_every_kind_of_bug_is_planted_in_a_shell_script_outside_of_comments() -> None:
    mutants = shell_bugs.find("a.sh", SHELL)
    assert changes(mutants, SHELL) == {
        ("constant", "0", "1"),
        ("bound", " -lt ", " -le "),
        ("comparison", " -lt ", " -ge "),
        ("constant", "3", "4"),
        ("logic", " && ", " || "),
        ("logic", "", "! "),
        ("arithmetic", "+", "-"),
        ("bound", "+1", ""),
        ("constant", "1", "2"),
        ("step", 'rm -f "$1/old"', ":"),
        ("comparison", " = ", " != "),
        ("check", '[ "$2" = none ]', "false"),
        ("constant", "81", "82"),
        ("logic", " || ", " && "),
    }
    for one in mutants:
        assert one.before(SHELL) != one.after(SHELL)
