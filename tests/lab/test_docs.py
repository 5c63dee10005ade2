"""The documentation matches the program: every task is described, every command exists."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from invoke.exceptions import ParseError
from invoke.parser import Parser
from invoke.parser.context import ParserContext

from lab.docs import generator as pages
from tasks import namespace
from tests.some import some
from trimtab.cli._argv import normalize
from trimtab.cli._program import contexts
from trimtab.devices import find_device
from trimtab.errors import DeviceUnreachableError

ROOT = Path(__file__).resolve().parents[2]
every_page = functools.cache(pages.every_page)
# Pages show commands as `./inv x   # comment` and `A=1 ./inv x | y`.
COMMAND = re.compile(r"\s*(?:\$ )?(?:\w+=\S+ )*\./inv ((?:\"[^\"]*\"|[^#|>\"])*)")
CONTEXTS = contexts(namespace)
TRANSPORTS = sorted(
    path.stem
    for path in (ROOT / "trimtab" / "devices").glob("*.py")
    if "\ndef create(" in path.read_text()
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def documented_commands(texts: Mapping[Path, str]) -> set[tuple[str, str]]:
    """(page, command line) for every line of a page's code blocks that runs ./inv."""
    return {
        (page.relative_to(ROOT).as_posix(), command)
        for page, text in texts.items()
        for command in commands_of(text)
    }


def commands_of(text: str) -> Iterator[str]:
    """The command line of every line of a page's code blocks that runs ./inv."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and (match := COMMAND.match(line)):
            yield match[1].strip()


COMMANDS = sorted(documented_commands({page: page.read_text() for page in pages.tracked()}))


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_documented_command_exists_with_its_options(page: str, command: str) -> None:
    arguments = shlex.split(command)
    if arguments[0] in {"--list", "--version", "--help"}:
        return
    # Square brackets mark optional words, which are checked as well.
    arguments = [piece for word in arguments if (piece := word.strip("[]"))]
    # The parser copies each task that it knows.
    parser = Parser(
        contexts=[CONTEXTS[word] for word in dict.fromkeys(arguments) if word in CONTEXTS]
    )
    try:
        parser.parse_argv(normalize(arguments, ParserContext(), CONTEXTS).words)
    except ParseError as error:
        pytest.fail(f"{page}: ./inv {command}: {error}")


def test_the_commands_of_pages_that_git_ignores_exist() -> None:
    texts = {page: text for page, text in every_page().items() if page.parent == pages.folder()}
    assert len(texts) > 30
    for page, command in documented_commands(texts):
        test_a_documented_command_exists_with_its_options(page, command)


@pytest.mark.parametrize("name", sorted(namespace.task_names))
def test_a_task_has_its_section_in_the_page_of_tasks(name: str) -> None:
    headings = re.findall(r"^##+ (.*)$", (ROOT / "docs" / "tasks.md").read_text(), re.M)
    assert any(f"`{name}`" in heading for heading in headings), f"docs/tasks.md lacks ## `{name}`"


@pytest.mark.parametrize("name", sorted(namespace.task_names))
def test_a_task_explains_itself_and_each_of_its_options(name: str) -> None:
    assert (namespace[name].__doc__ or "").strip(), f"{name} has no docstring"
    for argument in set(CONTEXTS[name].args.values()):
        assert argument.help, f"{name} --{argument.name} has no help text"


def found(pattern: str | re.Pattern[str]) -> list[tuple[Path, Any]]:
    """Matches of a pattern in all pages, each with its page."""
    return [(page, one) for page, text in every_page().items() for one in re.findall(pattern, text)]


def place(page: Path, target: str) -> Path:
    """The file to which the link of a page leads, of whatever a checkout has at present."""
    return Path(os.path.normpath(page.parent / target))


def test_links_between_pages_exist() -> None:
    for page, target in some(found(LINK)):
        if "://" not in target and not target.startswith("mailto:"):
            there = place(page, target)
            exists = there in every_page() or (pages.folder() != there.parent and there.exists())
            assert exists, f"{page.name}: {target}"


def test_the_list_of_pages_has_every_page() -> None:
    listed = set(LINK.findall((ROOT / "docs" / "README.md").read_text()))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= listed
    assert "adr/README.md" in listed


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def test_links_to_headings_exist() -> None:
    for page, (target, anchor) in some(found(r"\]\(([^)#\s:]*)#([^)\s]+)\)")):
        there = place(page, target) if target else page
        text = every_page().get(there) or there.read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.M)
        assert anchor in map(slug, headings), f"{page.name}: {target}#{anchor}"


def test_the_files_that_a_page_names_exist() -> None:
    # Not of kernels/: pages say where kernels go that are not there yet.
    folders = "lab|bindings|cores|devices|docs|profiles|runtime|tests|toolchains|trimtab"
    for page, name in some(found(rf"`((?:{folders})/[\w./-]+)`")):
        is_made = "_resources" in name or name.startswith("docs/reference")  # by ./inv
        is_there = is_made or re.search("NAME|ARCH", name) or (ROOT / name).exists()
        assert is_there, f"{page.name}: {name}"


def test_the_generated_parts_of_pages_are_up_to_date() -> None:
    stale = [page.relative_to(ROOT).as_posix() for page in pages.stale(every_page())]
    assert not stale, f"run ./inv docs: {stale}"


def test_the_page_of_cores_has_every_core() -> None:
    page = pages.blocks()["known_cores"].text()
    for path in some((ROOT / "cores").glob("*.toml")):
        assert tomllib.loads(path.read_text())["doc"] in page


def test_the_page_of_operators_has_every_word_of_a_schema() -> None:
    sections = re.split(r"^## ", pages.blocks()["operators"].text(), flags=re.M)[1:]
    files = sorted((ROOT / "runtime" / "ops").glob("*.toml"))
    assert [section.split("\n")[0] for section in sections] == [path.stem for path in files]
    for section, path in zip(sections, files, strict=True):
        table = tomllib.loads(path.read_text())
        rows = [*table.get("inputs", []), *table["outputs"]]
        named = {**table.get("attributes", {}), **table.get("plan", {})}
        rows += [{"name": name, **row} for name, row in named.items()]
        lines = section.replace("\\|", "|").splitlines()
        assert table["doc"] in " ".join(section.split())
        for row in rows:
            cells = re.compile(rf"\|[^|]*\| `{row['name']}` ")
            (line,) = (line for line in lines if cells.match(line))
            assert row["doc"] in line
            assert row.get("unit", "") in line
            for word in (*row.get("families", []), *row.get("values", [])):
                assert f"`{word}`" in line or word == "@activation"


def test_each_dependency_is_justified() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["editable"], *extras["dev"]]
    for requirement in some(requirements):
        name = re.split(r"[<>=[]", requirement)[0]
        assert f"`{name}`" in page, f"docs/dependencies.md does not say why {name} is needed"
        assert re.search(r">=[\d.]+,<[\d.]+", requirement), f"{requirement} has no pinned range"


def example(module: str) -> str:
    """The indented block in the docstring of a module of trimtab."""
    source = ast.parse((ROOT / "trimtab" / f"{module}.py").read_text())
    text = ast.get_docstring(source, clean=False) or ""
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    assert lines, f"trimtab/{module}.py shows no example"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("module", ["__init__", "size/__init__"])
def test_the_example_of_a_module_is_python(module: str) -> None:
    assert len(ast.parse(example(module)).body) == 3


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_docstring_of_a_transport_is_the_definition_of_a_device(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "devices").mkdir()
    text = f'doc = "an example"\n{example(f"devices/{transport}")}'
    (tmp_path / "devices" / "example.toml").write_text(text)
    defined = find_device("example")
    assert defined.transport == transport
    with contextlib.suppress(DeviceUnreachableError):  # the board is not up
        defined.open()  # refuses keys that the transport does not know; connects to nothing


def inv(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "lab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_list_of_tasks_names_every_task_in_a_line() -> None:
    listed = inv("--list")
    assert listed.returncode == 0
    for name in namespace.task_names:
        alias = r"(?: \([\w.]+\))?"  # the default task of a group also goes by the group's name
        assert re.search(rf"^  {re.escape(name)}{alias} +\w.*\.$", listed.stdout, re.M), name


def test_doctor_reports_as_json() -> None:
    rows = json.loads(inv("doctor", "--json").stdout)
    assert {"name", "found", "remedy", "needed"} <= rows[0].keys()
    assert any(row["name"] == "ziglang" and row["found"] for row in rows)


def test_an_error_is_a_message_with_its_exit_code_and_no_traceback(tmp_path: Path) -> None:
    failed = inv("inspect", str(tmp_path / "absent.onnx"))
    assert failed.returncode == 10
    assert "absent.onnx" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not failed.stdout


def test_libraries_of_pages_are_those_that_were_bundled() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    folder = ROOT / "trimtab" / "reports" / "page"
    for path in folder.glob("*.min.js"):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        row = next(line for line in page.splitlines() if line.startswith(f"| `{path.name}`"))
        assert f"`{digest}`" in row
        assert f"| {path.stat().st_size} |" in row
    assert {path.name for path in folder.glob("LICENSE.*")} == {"LICENSE.d3", "LICENSE.plot"}
