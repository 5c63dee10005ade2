"""Import rules of docs/architecture.md, enforced on the imports of the Python sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.some import some
from tests.sources import IMPORTABLE, LABORATORY, MODULES, OWN

# A room is a module or folder directly below trimtab/. Each names the rooms that it may import, and
# imports all of them: an allowance that nothing uses goes. The order is that of the layers, lowest
# first. "__init__" is the package itself, whose version any room may import.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "strict_json": set(),
    "toml_table": {"errors"},
    "paths": set(),
    "system": {"errors"},
    "files": {"errors"},
    "escape": set(),
    "junit_document": {"escape"},
    "tables": {"escape", "strict_json"},
    "accuracy": {"errors"},
    "detections": {"errors", "tables"},
    "input_arrays": {"errors"},
    "array_files": {"system", "errors"},
    "compression": set(),
    "progress": set(),
    "plugins": {"errors"},
    "schema": {"errors", "paths", "plugins", "toml_table"},
    "kernels": {"errors", "paths", "plugins", "schema", "toml_table"},
    "profile": {"strict_json", "errors", "paths", "plugins", "schema", "kernels", "toml_table"},
    "engine": {"errors", "paths", "plugins"},
    "cores": {"errors", "paths", "plugins", "toml_table"},
    "target": {"errors", "kernels", "profile", "engine", "cores"},
    "python_operators": {"errors", "schema", "engine"},
    "program": {"strict_json", "errors", "tables", "schema", "kernels", "engine"},
    "camera": {"errors", "program"},
    "modelfile": {"strict_json", "errors", "files", "schema", "engine", "program"},
    "plan_cache": {
        *("strict_json", "errors", "files", "paths", "plugins", "engine", "modelfile"),
        "program",
    },
    "operator_cases": {"errors", "plugins", "program"},
    "zoo": {"errors", "paths", "files", "progress"},
    "importers": {
        *("strict_json", "errors", "files", "plugins", "schema", "program", "modelfile"),
        *("plan_cache", "zoo"),
    },
    "passes": {"errors", "plugins", "schema", "kernels", "engine", "program"},
    "exporters": {"errors", "files", "schema", "program", "importers", "passes"},
    "planner": {
        "errors",
        "escape",
        "toml_table",
        "schema",
        "kernels",
        "cores",
        "target",
        "profile",
        "engine",
        "program",
    },
    "explanation": {
        *("strict_json", "tables", "target", "program", "importers", "passes", "planner"),
    },
    "session": {
        *("errors", "input_arrays", "engine", "target", "program", "modelfile", "plan_cache"),
        *("camera", "importers", "passes", "planner"),
    },
    "heads": {"errors", "program", "session"},
    "quantization": {
        *("strict_json", "toml_table", "input_arrays", "array_files"),
        *("errors", "accuracy", "files", "progress", "target", "program", "passes"),
        *("planner", "session", "heads", "detections"),
    },
    "gradients": {"errors", "plugins", "schema", "engine", "program"},
    "build": {
        "strict_json",
        *("__init__", "errors", "toml_table", "paths", "plugins", "files", "progress", "schema"),
        "kernels",
        *("profile", "engine", "cores", "target", "program", "session"),
    },
    "size": {"errors", "paths", "plugins", "tables", "kernels"},
    "devices": {
        *("system", "strict_json"),
        *("errors", "toml_table", "paths", "plugins", "files", "tables", "compression", "progress"),
        *("cores", "build"),
    },
    "results": {
        "strict_json",
        "escape",
        "errors",
        "paths",
        "accuracy",
        "files",
        "tables",
        "devices",
    },
    "bench": {
        "strict_json",
        "array_files",
        "errors",
        "accuracy",
        "files",
        "progress",
        "cores",
        "devices",
        "results",
    },
    "labels": {
        *("errors", "program", "camera", "heads", "planner", "session", "quantization"),
        "detections",
    },
    "pipeline": {
        "strict_json",
        *("__init__", "errors", "paths", "files", "tables", "compression", "progress", "cores"),
        *("accuracy", "profile", "target", "program", "modelfile", "importers", "passes"),
        *("camera", "operator_cases", "planner", "session", "quantization", "build", "size", "zoo"),
        *("devices", "bench", "heads", "labels"),
        *("results", "toml_table", "array_files", "exporters"),
    },
    "learning": {
        *("strict_json", "errors", "paths", "array_files", "files", "progress", "engine"),
        *("gradients", "program", "camera", "importers", "planner", "session", "quantization"),
        *("build", "devices", "bench", "pipeline"),
    },
    "compare": {
        "strict_json",
        *("importers", "errors", "paths", "files", "progress", "program", "build", "size", "zoo"),
        *("devices", "results", "bench", "pipeline"),
    },
    "fitting": {
        *("strict_json", "errors", "paths", "tables", "progress", "kernels", "cores", "target"),
        *("program", "passes", "planner", "build", "devices", "results", "bench", "pipeline"),
    },
    "reports": {
        "strict_json",
        "escape",
        "junit_document",
        "errors",
        "plugins",
        "accuracy",
        "files",
        "tables",
        "results",
        "pipeline",
        "compare",
    },
    "tuning": {
        *("strict_json", "errors", "paths", "files", "tables", "progress", "kernels", "profile"),
        *("target", "program", "importers", "passes", "planner", "session", "build", "devices"),
        *("results", "bench", "pipeline", "compare", "reports", "schema", "engine"),
    },
    "sweep": {
        *("system", "strict_json"),
        "escape",
        "junit_document",
        *("__init__", "errors", "paths", "files", "tables", "progress", "profile", "build"),
        *("importers", "plan_cache", "plugins"),
        *("toml_table", "zoo", "devices", "results", "bench", "pipeline", "compare", "tuning"),
    },
    "plugin_kit": {
        *("errors", "paths", "plugins", "files", "tables", "progress", "schema", "kernels"),
        *("profile", "operator_cases", "program", "session", "importers", "passes", "build"),
        *("devices", "reports", "pipeline"),
    },
    "doctor": {
        *("system", "strict_json", "errors", "paths", "tables", "progress", "build", "devices"),
    },
    "demo": {
        *("errors", "paths", "files", "progress", "bench", "devices"),
        *("results", "compare", "reports", "pipeline", "doctor"),
    },
    "cli": {
        "strict_json",
        "escape",
        *("__init__", "errors", "files", "tables", "progress", "plugins", "profile", "program"),
        *("exporters", "planner", "build", "size", "zoo", "devices", "results", "bench"),
        *("camera", "pipeline", "compare", "fitting", "reports", "tuning", "sweep", "plugin_kit"),
        *("doctor", "demo", "paths", "heads", "learning", "labels", "explanation"),
    },
}
# The package itself has no row: it loads the names of the Python API when they are first used.
API = "__init__"
# One method of the API is in a lower layer than the code that it calls, and imports it then.
FRONT_DOORS = {("trimtab.program.program", "trimtab.modelfile")}  # Program.save


def imports(name: str) -> Iterator[tuple[str, bool]]:
    """(module of ours, whether at the top level) for every import in the module called `name`."""
    tree = ast.parse(OWN[name].read_text())
    top = set(map(id, tree.body))
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
                yield target, id(node) in top


def room(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_the_rooms_below_its_own(name: str) -> None:
    own = room(name)
    if own == API:
        return
    assert own in MAY_IMPORT, f"trimtab/{own} is a new room: give it its row in MAY_IMPORT"
    allowed = MAY_IMPORT[own] | {own}
    wrong = {
        target
        for target, top in imports(name)
        if room(target) not in allowed and (top or (name, target) not in FRONT_DOORS)
    }
    assert not wrong, f"{name} must not import {sorted(wrong)}"


def test_no_room_may_import_what_it_does_not() -> None:
    used: dict[str, set[str]] = {}
    for name in MODULES:
        used.setdefault(room(name), set()).update(
            room(target) for target, _ in imports(name) if (name, target) not in FRONT_DOORS
        )
    idle = {own: allowed - used.get(own, set()) for own, allowed in MAY_IMPORT.items()}
    assert not {own: rooms for own, rooms in idle.items() if rooms}
    assert all(target in {t for t, _ in imports(name)} for name, target in FRONT_DOORS)


def test_the_rooms_stand_in_layers() -> None:
    layers = list(MAY_IMPORT)
    for own, allowed in MAY_IMPORT.items():
        above = {r for r in allowed & MAY_IMPORT.keys() if layers.index(r) > layers.index(own)}
        assert not above, f"{own} stands below {sorted(above)}"


def test_nobody_imports_the_command_line() -> None:
    for name in some(MODULES):
        if room(name) != "cli":
            assert not [t for t, _ in imports(name) if room(t) == "cli"], name


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
    "hosts": {"bare_machine"},
    "instructions": {"peers"},
    "overview": {"peers", "sizes"},
    "silicon": {"peers"},
    "time_model": {"instructions"},
}


def test_experiments_are_independent() -> None:
    used: dict[str, set[str]] = {}
    for name in OWN.keys() - MODULES.keys():
        own = room(name)
        targets = {room(t) for t, _ in imports(name) if t.startswith("lab.")}
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
        waiting += [target for target, _ in imports(name)]
        waiting.append(name.rpartition(".")[0])
        package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
        if finds_parts(name):
            waiting += [other for other in MODULES if other.startswith(f"{package}.")]
    assert sorted(MODULES.keys() - reached) == []


def test_imports_have_no_cycle_inside_functions_or_for_types_either() -> None:
    graph = {
        n: {t for t, _ in imports(n) if t in OWN and t != n and (n, t) not in FRONT_DOORS}
        for n in OWN
    }
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
