"""Pictures of the README: charts of a report and of a sweep as SVG, from committed results.

A browser draws the HTML report; its charts and legends are placed below each other. The pictures
follow the reader's light or dark mode and have a background, because the page around them may not
follow it.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import lab
from lab import committed
from lab.committed import Results
from trimtab import __version__, files, paths, reports
from trimtab.errors import MissingRequirementError, ResultError
from trimtab.reports import Configuration
from trimtab.reports.configurations import FACTS
from trimtab.results import index, records, summary
from trimtab.results.summary import Unit

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
_ALL = dict.fromkeys(FACTS, "")  # of cells that were measured when there were fewer facts
_SHOWN = ("timeline", "graph", "treemap")  # charts of the report
_WIDTH, _EDGE = 960, 16
_SVG = "http://www.w3.org/2000/svg"
_SECTION = re.compile(r'<section class="chart" data-kind="(\w+)".*?</section>', re.DOTALL)
_PART = re.compile(
    r"<h2[^>]*>(?P<title>.*?)</h2>|<h3>(?P<heading>.*?)</h3>"
    r"|<span[^>]*-swatch[^>]*>(?P<sign><svg.*?</svg>)(?P<name>.*?)</span>"
    r'|(?P<chart><svg(?=[^>]* width="\d{3}).*?</svg>)',
    re.DOTALL,
)
_ARIA = ("aria-label", "aria-description", "aria-hidden", "class")


def take_run(record: Path) -> Path:
    """Replaces the record of the report's picture; raises the errors of `records.read`."""
    records.read(record)
    return _write(_run(), record.read_text(encoding="utf-8"))


def take_sweep(folder: Path, command: str) -> Path:
    """Replaces the cells of the sweep's picture by those of a folder of results.

    ResultError without a complete run.
    """
    complete = [run for run in index.entries(folder) if run.status != index.TRUNCATED]
    runs = [summary.summarize(records.read(folder / run.file_name)) for run in complete]
    rows = [dataclasses.asdict(cell) for cell in reports.configurations_of(runs)]
    if not rows:
        raise ResultError("no run is complete", where=str(folder), hint="run ./inv sweep")
    results = Results(command=command, versions={"trimtab": __version__}, rows=rows)
    return committed.write("docs/sweep", results)


def draw() -> list[Path]:
    """Draws all pictures; MissingRequirementError without a browser."""
    run = reports.find("html").run(summary.summarize(records.read(_run())))
    cells = [
        Configuration(**{**row, "facts": _ALL | row["facts"], "unit": Unit(row["unit"])})
        for row in committed.read("docs/sweep").rows
    ]
    # Instruction counts are reproducible, times are not.
    exact = [cell.facts["device"] for cell in cells if cell.unit is Unit.INSTRUCTIONS]
    chosen = urlencode({"model": "all", "device": exact[0] if exact else ""})
    return [
        _write(folder() / "report.svg", _picture(_drawn(run), _SHOWN)),
        _write(
            folder() / "sweep.svg", _picture(_drawn(reports.page_of(cells), chosen), ("cells",))
        ),
    ]


def folder() -> Path:
    """The folder of the pictures, in a checkout."""
    return paths.root() / "docs" / "pictures"


def _run() -> Path:
    return lab.FOLDER / "docs" / "report.jsonl"


def _write(path: Path, text: str) -> Path:
    files.write_text(path, text, hint="pictures belong to a checkout")
    return path


def _drawn(page: str, chosen: str = "") -> str:
    """The DOM of a page after its scripts ran. `chosen`: the fragment of its address."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise MissingRequirementError(
            "no browser to draw the pictures",
            hint="sudo apt-get install chromium-headless-shell",
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path = Path(name) / "page.html"
        files.write_text(path, page)
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += [f"--user-data-dir={name}/profile", f"--window-size={_WIDTH},1000"]
        command += ["--virtual-time-budget=10000", f"{path.as_uri()}#{chosen}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or "data-drawn" not in done.stdout:
        raise MissingRequirementError("the browser drew nothing", where=program, hint=done.stderr)
    return done.stdout


def _picture(page: str, kinds: Sequence[str]) -> str:
    """Charts of a page, of the given kinds, as one SVG."""
    root = ET.Element(f"{{{_SVG}}}svg")
    paper = ET.SubElement(root, f"{{{_SVG}}}rect", fill="var(--paper)")
    down = _EDGE
    for section in _SECTION.finditer(page):
        if section[1] in kinds:
            down = _lay_out(root, section[0], down) + _EDGE
    for element in (root, paper):
        element.attrib |= {"width": str(_WIDTH), "height": str(down)}
    root.attrib |= {"viewBox": f"0 0 {_WIDTH} {down}", "style": "color: var(--ink)"}
    root.attrib |= {"fill": "currentColor", "font-family": "system-ui, sans-serif"}
    style = ET.Element(f"{{{_SVG}}}style")
    style.text = "".join(re.findall(r":root \{.*?\}|@media[^{]*dark\) \{.*?\} \}", page, re.DOTALL))
    root.insert(0, style)
    ET.register_namespace("", _SVG)
    return _rounded(ET.tostring(root, encoding="unicode")) + "\n"


def _lay_out(root: ET.Element, section: str, down: int) -> int:
    """Places the parts of a section from `down` on; returns the new bottom."""
    right = _EDGE
    for part in _PART.finditer(section):
        if part["sign"]:
            wide = 34 + 7 * len(part["name"])
            if right + wide > _WIDTH:
                right, down = _EDGE, down + 20
            _put(root, part["sign"], right, down)
            _text(root, part["name"], right + 20, down + 12, "font-size: 12px")
            right += wide
            continue
        if right > _EDGE:
            right, down = _EDGE, down + 24
        if part["chart"]:
            down += _put(root, part["chart"], _EDGE, down)
        else:
            size = "font-size: 17px" if part["title"] else "font-size: 14px"
            text = part["title"] or part["heading"]
            _text(root, text, _EDGE, down + 18, f"{size}; font-weight: 600")
            down += 32
    return down


def _text(root: ET.Element, text: str, x: int, y: int, style: str) -> None:
    place = ET.SubElement(root, f"{{{_SVG}}}text", x=str(x), y=str(y), style=style)
    place.text = ET.fromstring(f"<a>{text}</a>").text


def _put(root: ET.Element, svg: str, x: int, y: int) -> int:
    """Places an SVG without its ARIA attributes; returns its height."""
    own = svg.replace(f' xmlns="{_SVG}"', "").replace("&nbsp;", "&#160;")
    element = ET.fromstring(own.replace("<svg ", f'<svg xmlns="{_SVG}" ', 1))
    for parent in [*element.iter()]:
        for name in _ARIA:
            parent.attrib.pop(name, None)
        for child in [*parent]:
            if child.tag in (f"{{{_SVG}}}title", f"{{{_SVG}}}style"):
                parent.remove(child)
    element.attrib |= {"x": str(x), "y": str(y)}
    root.append(element)
    return round(float(element.get("height", "0")))


def _rounded(text: str) -> str:
    """`text` with coordinates rounded to hundredths of a pixel."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text)
