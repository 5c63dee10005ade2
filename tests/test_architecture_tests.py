"""Rules for the tests: no test reaches into private names of another room, or of an object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.sources import IMPORTABLE

TESTS = Path(__file__).parent
FILES = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}
del FILES[Path(__file__).name]  # which has examples
ENGINE = "trimtab._engine"  # the engine's own interface for Python, whose room is runtime/
# Rooms whose code is written with the helpers of another one, as its own is.
ALSO = {"lab": "cli"}

OURS = re.compile(r"(trimtab|lab)(\.\w+)+")

Names = Mapping[str, str]
"""The modules and the things in them that a file imports, by their names there."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def problem(dotted: str, own_room: str) -> bool:
    """Whether a name of ours, with its module, is private, or in a private module of a room that is
    not `own_room`.
    """
    parts = dotted.split(".")
    if parts[0] not in ("trimtab", "lab") or dotted.startswith(ENGINE):
        return False
    count = next(n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in IMPORTABLE)
    own = {own_room, ALSO.get(own_room)}
    is_own = parts[0] == "lab" or (count > 1 and parts[1] in own)
    is_of_room = is_own or not any(map(is_private, parts[:count]))
    return not is_of_room or any(map(is_private, parts[count : count + 1]))


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The local name and the full one of everything that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name
                yield (alias.asname, name) if alias.asname else (name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def full(node: ast.AST, names: Names) -> str:
    """The full name of an expression such as `module.name`; "" for another one."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (inner := full(node.value, names)):
        return f"{inner}.{node.attr}"
    return ""


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lines and the full names of ours that are imported, read or replaced, also in the code of
    strings.
    """
    names = dict(imported(tree))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            yield from ((line, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((line, name) for _, name in imported(node))
        elif isinstance(node, ast.Attribute) and (name := full(node, names)):
            yield line, name
        elif isinstance(node, ast.Call):
            match node.args:
                case [ast.Constant(value=str() as text), *_] if OURS.fullmatch(text):
                    yield line, text
                case [of, ast.Constant(value=str() as text), *_] if full(of, names) in IMPORTABLE:
                    yield line, f"{full(of, names)}.{text}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((line, name) for _, name in used(parsed(node.value)))


def parsed(text: str) -> ast.AST:
    """The code of a string; nothing if it is other text, or imports nothing of ours."""
    try:
        return ast.parse(text if "import" in text and "trimtab" in text else "")
    except SyntaxError:
        return ast.Module([], [])


def reaches(source: str, own_room: str) -> set[tuple[int, str]]:
    return {(line, name) for line, name in used(ast.parse(source)) if problem(name, own_room)}


def test_no_test_reaches_into_private_names() -> None:
    """A name with a leading underscore belongs to its module alone. A module with such a name is of
    its room: tests of the same room, in the folder of the room's name, import it as its modules do.
    A test needs a public function, or a fact that the room offers, such as a limit in a constant.
    """
    reached = [
        f"tests/{file}:{line} {name}"
        for file, path in FILES.items()
        for line, name in sorted(reaches(path.read_text("utf-8"), room(file)))
    ]
    assert reached == []


def hidden(source: str) -> set[tuple[int, str]]:
    """The lines and the names of private attributes of objects: all but those of `self`, `cls` and
    `super()`, and those that the classes of the file itself define.
    """
    tree = ast.parse(source)
    nodes = [*ast.walk(tree)]
    of_classes = [inner for node in nodes if isinstance(node, ast.ClassDef) for inner in node.body]
    defined = {item.name for item in of_classes if isinstance(item, ast.FunctionDef)}
    defined |= {ast.unparse(item.target) for item in of_classes if isinstance(item, ast.AnnAssign)}
    attributes = set[tuple[int, str]]()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                defined.add(name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                pass
            case ast.Attribute(attr=name):
                attributes.add((node.lineno, name))
            case ast.Call(func=ast.Name(id=by) | ast.Attribute(attr=by), args=[_, named, *_]):
                if by in ("getattr", "setattr", "delattr") and isinstance(named, ast.Constant):
                    attributes.add((node.lineno, str(named.value)))
    return {
        (line, name)
        for line, name in attributes
        if name == "__new__" or (is_private(name) and name not in defined | PROTOCOLS)
    }


PROTOCOLS = {"_replace", "_asdict", "_fields", "_make", "_engine", "_repr_html_"}
"""Names that are public in spite of their underscore: of named tuples, notebooks, our engine."""


def test_no_test_reaches_into_private_attributes() -> None:
    """A test sees what a user can see: what an object does, and its public names."""
    reached = [
        f"tests/{file}:{line} {name}"
        for file, path in FILES.items()
        for line, name in sorted(hidden(path.read_text("utf-8")))
    ]
    assert reached == []


def room(file: str) -> str:
    """The room that a file of tests is for."""
    return file.partition("/")[0].removeprefix("test_").removesuffix(".py")


PRIVATE = """
from trimtab.sweep.inputs import _own_code
from trimtab.importers import _parsers
import trimtab.cli._argv
from trimtab import plan_cache, zoo as networks
plan_cache._package_digests
networks.builder._x.y
monkeypatch.setattr(plan_cache, "_package_digests", {})
monkeypatch.setattr("trimtab.cli._engine.build_engine", None)
CODE = "import trimtab.zoo\\ntrimtab.zoo._cache()"
"""
PUBLIC = """
from trimtab import _engine, plan_cache
from trimtab.passes._graph import Graph
from trimtab.passes import _match
plan_cache.Plans._own
self._x, plan_cache.__doc__, _engine.Executor, _match.products
getattr(plan_cache, "package_signature")
"""


PRIVATE_ATTRIBUTES = """
device._client
device.link._client.close()
device._count = 1
Client.__new__(Client)
monkeypatch.setattr(device, "_send", None)
getattr(device, "_send")
"""
PUBLIC_ATTRIBUTES = """
class Own:
    _limit: int
    def _size(self): return self._bytes + super()._size()
Own()._size(), Own()._bytes, Own()._limit, cls._x
row._replace(a=1)._asdict(), device.__doc__, getattr(device, "name"), text.replace("a", "_")
"""


def test_the_search_knows_private_attributes() -> None:
    assert {line for line, _ in hidden(PRIVATE_ATTRIBUTES)} == set(range(2, 8))
    assert hidden(PUBLIC_ATTRIBUTES) == set()


def test_the_search_knows_private_names_of_other_rooms() -> None:
    lines = {line for line, _ in reaches(PRIVATE, "passes")}
    assert lines == {*range(2, 5), *range(6, 11)}
    assert reaches(PUBLIC, "passes") == set()
