"""Import rules of docs/architecture.md, enforced on the imports of the Python sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import pytest

from tests.some import some
from tests.sources import IMPORTABLE, LABORATORY, MODULES, OWN


class Wing(NamedTuple):
    """Rooms that belong together. `below`: the wings whose rooms they may import; `rooms`: each
    room, with the rooms of the same wing that it imports.
    """

    below: set[str]
    rooms: dict[str, set[str]]


# A room is a module or folder directly below trimtab/. Wings and the rooms of a wing stand in
# layers, lowest first. An allowance that nothing uses goes.
WINGS = {
    "text": Wing(
        set(),
        {
            "errors": set(),
            "strict_json": set(),
            "paths": set(),
            "escape": set(),
            "compression": set(),
            "progress": set(),
            "toml_table": {"errors"},
            "system": {"errors"},
            "files": {"errors"},
            "input_arrays": {"errors"},
            "array_files": {"errors", "system"},
            "junit_document": {"escape"},
            "tables": {"escape", "strict_json"},
        },
    ),
    "target": Wing(
        {"text"},
        {
            "plugins": set(),
            "schema": {"plugins"},
            "kernels": {"plugins", "schema"},
            "profile": {"plugins", "schema", "kernels"},
            "engine": {"plugins"},
            "cores": {"plugins"},
            "target": {"kernels", "profile", "engine", "cores"},
            "python_operators": {"schema", "engine"},
            "size": {"plugins", "kernels"},
        },
    ),
    "compiler": Wing(
        {"text", "target"},
        {
            "program": set(),
            "modelfile": {"program"},
            "operator_cases": {"program", "modelfile"},
            "plan_cache": {"program", "modelfile"},
            "zoo": set(),
            "importers": {"program", "modelfile", "plan_cache", "zoo"},
            "passes": {"program"},
            "exporters": {"program", "importers", "passes"},
            "planner": {"program"},
            "explanation": {"program", "importers", "passes", "planner"},
        },
    ),
    "inference": Wing(
        {"text", "target", "compiler"},
        {
            "accuracy": set(),
            "detections": set(),
            "camera": set(),
            "session": {"camera"},
            "heads": {"session"},
            "quantization": {"accuracy", "detections", "camera", "session", "heads"},
            "sight": {"detections", "camera", "session", "heads", "quantization"},
            "labels": {"detections", "camera", "session", "heads", "quantization"},
        },
    ),
    "measurement": Wing(
        {"text", "target", "compiler", "inference"},
        {
            "build": set(),
            "devices": {"build"},
            "results": {"devices"},
            "bench": {"devices", "results"},
            "pipeline": {"build", "devices", "results", "bench"},
        },
    ),
    "training": Wing(
        {"text", "target", "compiler", "inference", "measurement"},
        {"gradients": set(), "learning": {"gradients"}},
    ),
    "search": Wing(
        {"text", "target", "compiler", "inference", "measurement"},
        {
            "compare": set(),
            "fitting": set(),
            "reports": {"compare"},
            "debug": {"reports"},
            "tuning": {"compare", "reports"},
            "sweep": {"compare", "tuning"},
        },
    ),
    "app": Wing(
        {"text", "target", "compiler", "inference", "measurement", "training", "search"},
        {
            "plugin_kit": set(),
            "doctor": set(),
            "demo": {"doctor"},
            "verification": set(),
            "cli": {"plugin_kit", "doctor", "demo", "verification"},
        },
    ),
}
WING_OF = {room: name for name, wing in WINGS.items() for room in wing.rooms}
# What runs a binary on a device and keeps its samples knows no network.
WITHOUT_NETWORKS = {"devices", "results", "bench"}
# The package itself has no row: it loads the names of the Python API when they are first used.
API = "__init__"


@cache
def imports(name: str) -> list[str]:
    """The module of ours of every import in the module called `name`."""
    return list(_imports(ast.parse(OWN[name].read_text())))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        targets = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from trimtab import builder` names a module, `from trimtab.errors import X` a class.
            targets = [
                dotted if (dotted := f"{node.module}.{alias.name}") in IMPORTABLE else node.module
                for alias in node.names
            ]
        for target in targets:
            if target.split(".")[0] in ("trimtab", "lab"):
                yield target


def room(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


def is_allowed(own: str, other: str) -> bool:
    """Whether a room may import another."""
    wing = WINGS[WING_OF[own]]
    return other in {own, API, *wing.rooms[own]} or WING_OF[other] in wing.below


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_the_rooms_below_its_own(name: str) -> None:
    own = room(name)
    if own == API:
        return
    assert own in WING_OF, f"trimtab/{own} is a new room: give it its row in WINGS"
    wrong = {
        target
        for target in imports(name)
        if target.startswith("trimtab")
        if not is_allowed(own, room(target))
    }
    assert not wrong, f"{name} must not import {sorted(wrong)}"


def test_no_room_may_import_what_it_does_not() -> None:
    used: dict[str, set[str]] = {}
    for name in MODULES:
        used.setdefault(room(name), set()).update(room(target) for target in imports(name))
    for title, wing in WINGS.items():
        idle = {own: rooms - used[own] for own, rooms in wing.rooms.items() if rooms - used[own]}
        assert not idle, title
        reached = {WING_OF[other] for own in wing.rooms for other in used[own] - {API}}
        assert not wing.below - reached, title


def test_the_wings_stand_in_layers() -> None:
    check_layers({name: wing.below for name, wing in WINGS.items()})


@pytest.mark.parametrize("name", WINGS)
def test_the_rooms_of_a_wing_stand_in_layers(name: str) -> None:
    check_layers(WINGS[name].rooms)


def check_layers(rows: Mapping[str, set[str]]) -> None:
    """Asserts that each row allows only those above it."""
    layers = list(rows)
    above = {
        (own, other)
        for own in rows
        for other in rows[own]
        if layers.index(other) >= layers.index(own)
    }
    assert not above


def test_devices_and_measurements_know_no_network() -> None:
    for name in some(MODULES):
        if room(name) in WITHOUT_NETWORKS:
            wings = {WING_OF.get(room(target)) for target in imports(name)}
            assert not wings & {"compiler", "training"}, name
            rooms = {room(t) for t in imports(name) if WING_OF.get(room(t)) == "inference"}
            assert rooms <= {"accuracy"}, f"{name} imports {sorted(rooms)}"


def test_nobody_imports_the_command_line() -> None:
    for name in some(MODULES):
        if room(name) != "cli":
            assert not [t for t in imports(name) if room(t) == "cli"], name


def test_rooms_take_only_the_version_from_the_package_itself() -> None:
    for name in some(MODULES.keys() - {"trimtab"}):
        for node in ast.walk(ast.parse(MODULES[name].read_text())):
            imported = set[str]()
            if isinstance(node, ast.Import):
                imported = {alias.name for alias in node.names} & {"trimtab"}
            elif isinstance(node, ast.ImportFrom) and node.module == "trimtab":
                imported = {alias.name for alias in node.names} - {"__version__"}
            public = {item for item in imported if f"trimtab.{item}" not in IMPORTABLE}
            assert not public, f"{name} imports {sorted(public)} from the package itself"


def test_the_package_imports_nothing_of_the_laboratory_or_of_the_tasks_file() -> None:
    for path in some(MODULES.values()):
        assert not re.search(r"^\s*(import|from)\s+(tasks|lab)\b", path.read_text(), re.M), path


def finds_parts(name: str) -> bool:
    """Whether a module finds the modules beside and below it by their file names."""
    return bool(re.search(r"iter_modules|import_module\(f|plugins\.", MODULES[name].read_text()))


# The experiments that an experiment may import; all may import the modules of lab/ itself, `docs`
# and `dev`.
EXPERIMENTS: dict[str, set[str]] = {
    "accuracy": {"peers"},
    "coverage": {"fuzz"},
    "debug_alarms": {"peers"},
    "hosts": {"bare_machine"},
    "instructions": {"peers"},
    "journeys": {"photographs"},
    "operators": {"peers"},
    "overview": {"peers", "sizes"},
    "silicon": {"peers"},
    "time_model": {"instructions"},
}


def test_experiments_are_independent() -> None:
    used: dict[str, set[str]] = {}
    for name in OWN.keys() - MODULES.keys():
        own = room(name)
        targets = {room(t) for t in imports(name) if t.startswith("lab.")}
        others = {t for t in targets if (LABORATORY / t).is_dir()} - {own, "docs", "dev"}
        used.setdefault(own, set()).update(others)
    assert {own: others for own, others in used.items() if others} == EXPERIMENTS


def test_the_package_has_no_module_that_only_developers_use() -> None:
    """Every module can be reached from the command line, the Python API or CMake."""
    reached: set[str] = set()
    waiting = ["trimtab", "trimtab.cli", "trimtab.cli.__main__", "trimtab.build.codegen"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in MODULES:
            continue
        reached.add(name)
        waiting += imports(name)
        waiting.append(name.rpartition(".")[0])
        package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
        if finds_parts(name):
            waiting += [other for other in MODULES if other.startswith(f"{package}.")]
    assert sorted(MODULES.keys() - reached) == []


def test_imports_have_no_cycle_inside_functions_or_for_types_either() -> None:
    graph = {n: {target for target in imports(n) if target in OWN and target != n} for n in OWN}
    # A package's __init__ runs before its modules, so that importing one's own package is no cycle
    # unless the package imports the module back, which the graph shows.
    finished: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in finished:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            finished.add(name)

    for name in graph:
        visit(name, ())
