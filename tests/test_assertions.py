"""Tests assert something: where all assertions of one stand in a loop, the loop runs at least once.

A loop over a computed list would pass with an empty one. The list is one that the source shows to
have values, or `some(...)` proves it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.some import some

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))
_HELPERS = ("assert", "check", "expect", "compare", "fail")  # begin the names of what asserts
_SAME_LENGTH = {"enumerate", "sorted", "reversed", "list", "tuple", "set", "pairwise"}

Names = Mapping[str, ast.expr | None]


def loops(source: str) -> Iterator[tuple[str, int]]:
    """The name of each test that may assert nothing, and the line of the first such loop."""
    tree = ast.parse(source)
    names = _assigned(tree.body)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            own = {**names, **_assigned(ast.walk(function))}
            own |= dict.fromkeys((one.arg for one in function.args.args), None)
            lines = [*_assertions(function.body, None, own)]
            if lines and None not in lines:
                yield function.name, min(line for line in lines if line is not None)


def _assigned(statements: Iterator[ast.AST] | list[ast.stmt]) -> dict[str, ast.expr | None]:
    """The values of names; None for a name that has several."""
    values: dict[str, ast.expr | None] = {}
    for one in statements:
        targets: list[ast.expr] = []
        if isinstance(one, ast.Assign):
            targets = one.targets
        elif isinstance(one, ast.AnnAssign):
            targets = [one.target]
        value = getattr(one, "value", None)
        pairs = [(target, value) for target in targets]
        if targets and isinstance(targets[0], ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(targets[0].elts, value.elts, strict=False)]
        for target, own in pairs:
            if isinstance(target, ast.Name):
                values[target.id] = None if target.id in values else own
    return values


def _assertions(body: list[ast.stmt], loop: int | None, names: Names) -> Iterator[int | None]:
    """Lines of the loops that may be empty, one for each assertion; None outside of a loop."""
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            continue
        if _asserts(one):
            yield loop
        if isinstance(one, ast.For):
            inner = loop if _has_values(one.iter, names) else loop or one.lineno
            yield from _assertions(one.body, inner, names)
            yield from _assertions(one.orelse, loop, names)
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _assertions(getattr(one, part, None) or [], loop, names)


def _asserts(one: ast.stmt) -> bool:
    if isinstance(one, ast.With):
        calls = [item.context_expr for item in one.items]
        return any(_name(call) in ("raises", "warns") for call in calls)
    is_call = isinstance(one, ast.Expr) and _name(one.value).startswith(_HELPERS)
    return isinstance(one, ast.Assert) or is_call


def _name(node: ast.expr) -> str:
    """The last part of the name of a called function; "" for other expressions."""
    call = node.func if isinstance(node, ast.Call) else None
    return ast.unparse(call).rpartition(".")[2].lstrip("_") if call else ""


def _has_values(node: ast.expr, names: Names) -> bool:
    """Whether an expression is known to have at least one value."""
    match node:
        case ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
            return any(
                not isinstance(one, ast.Starred) or _has_values(one.value, names) for one in values
            )
        case ast.Dict(keys=keys):
            return bool(keys)
        case ast.Constant(value=str() | bytes() as text):
            return bool(text)
        case ast.Name(id=name):
            value = names.get(name)
            others = {key: one for key, one in names.items() if key != name}
            return value is not None and _has_values(value, others)
        case ast.BinOp(op=ast.Add() | ast.BitOr(), left=left, right=right):
            return _has_values(left, names) or _has_values(right, names)
        case ast.BinOp(op=ast.Mult(), left=left, right=ast.Constant(value=int() as times)):
            return times > 0 and _has_values(left, names)
        case ast.ListComp(generators=of) | ast.SetComp(generators=of):
            return all(not one.ifs and _has_values(one.iter, names) for one in of)
        case ast.GeneratorExp(generators=of) | ast.DictComp(generators=of):
            return all(not one.ifs and _has_values(one.iter, names) for one in of)
        case ast.Call():
            return _call_has_values(node, names)
    return False


def _call_has_values(call: ast.Call, names: Names) -> bool:
    name, arguments = _name(call), call.args
    if name == "range":
        ends = [one.value for one in map(names.get, map(ast.unparse, arguments), arguments)
                if isinstance(one, ast.Constant)]  # fmt: skip
        return len(ends) == len(arguments) and len(range(*map(int, ends))) > 0  # type: ignore[arg-type]
    if name in ("items", "keys", "values") and isinstance(call.func, ast.Attribute):
        return _has_values(call.func.value, names)
    proofs = [_has_values(one, names) for one in arguments]
    if name == "zip":
        is_strict = any(one.arg == "strict" and ast.unparse(one.value) == "True"
                        for one in call.keywords)  # fmt: skip
        return any(proofs) if is_strict else all(proofs)
    if name in ("product", "map"):
        return all(proofs[name == "map" :])
    # A tree has at least its root, and `split` gives at least one part.
    return name in ("some", "walk", "split") or (name in _SAME_LENGTH and any(proofs[:1]))


def test_no_test_passes_because_a_list_is_empty() -> None:
    tests = [
        f"{file.relative_to(TESTS)}:{line} {name}"
        for file in FILES
        for name, line in loops(file.read_text("utf-8"))
    ]
    assert tests == [], "let `some` of tests/some.py prove that there is something to test"


FOUND = """
def test_calls():
    for one in of():
        assert one

def test_depth():
    values = [one for one in (1, 2) if one > 2]
    with open("x") as text:
        for one in values:
            if one:
                with pytest.raises(ValueError):
                    one()

def test_nested():
    for one in (1, 2):
        for other in one.all():
            np.testing.assert_equal(one, other)

def test_argument(values):
    for one in values:
        check(one)

def test_range():
    for i in range(len(x)):
        assert i

def test_pairs():
    for a, b in zip(first(), second(), strict=True):
        assert a == b

def test_empty():
    for one in ():
        assert one
"""
GOOD = """
VALUES = [1, *rest()]
SIZE, COUNT = 5, 4

def test_literal():
    for i, one in enumerate(sorted(VALUES)):
        assert one

def test_beside():
    found = of()
    assert found
    for one in found:
        assert one

def test_proved():
    for one in some(of()):
        assert one

def test_strict():
    for a, b in zip(VALUES, of(), strict=True):
        assert a == b

def test_more():
    for one in [*rest(), 3] + rest():
        for _ in range(COUNT):
            for key, value in {"a": 1}.items():
                assert one

def helper():
    for one in of():
        assert one
"""


def test_the_search_knows_loops_that_may_be_empty_from_those_that_are_not() -> None:
    names = [name for name, _ in loops(FOUND)]
    assert names == [
        line[4:].partition("(")[0] for line in FOUND.splitlines() if line[:4] == "def "
    ]
    assert next(loops(FOUND)) == ("test_calls", 3)
    assert list(loops(GOOD)) == []


def test_some_values_are_a_list_of_at_least_one() -> None:
    assert some(iter("ab")) == ["a", "b"]
    with pytest.raises(AssertionError, match="nothing to test"):
        some(iter(()))
