"""Writes a new plug-in that builds and passes its tests, from `templates/plugin/`."""

from __future__ import annotations

import re
from pathlib import Path

from trimtab import files, paths
from trimtab.errors import UsageError
from trimtab.importers._parsers import FRAMEWORKS
from trimtab.plugin_kit import example_models
from trimtab.schema import operators

_NAME = re.compile(r"[a-z][a-z0-9_]*")
# The parameter's name in formats whose parameters have numbers.
_PARAMETERS = {"ncnn": "0"}
# The layer's type in files of formats that have more than a name; ONNX needs a domain of its own.
_ORIGINS = {"darknet": "{op}", "onnx": "{name}.{type}", "tflite": "custom {type}"}


def write(name: str, op: str, framework: str, output: str | Path = ".") -> Path:
    """Writes the folder `output`/`name` with one operator, a parser for layers of `framework` and a
    model with such a layer, and returns it. UsageError for invalid names, and for a folder that
    exists.
    """
    folder = Path(output) / name
    for what, value in (("the plug-in's name", name), ("the operator's name", op)):
        if not _NAME.fullmatch(value):
            raise UsageError(f"{what} is {value!r}", hint="write it in snake_case, such as my_op")
    if framework not in FRAMEWORKS:
        raise UsageError(
            f"there is no format {framework!r}", hint=f"one of {', '.join(FRAMEWORKS)}"
        )
    if op in operators():
        raise UsageError(f"there is already an operator {op}", hint="choose another name")
    if folder.exists():
        raise UsageError("the folder exists already", where=str(folder))
    type = "".join(part.capitalize() for part in op.split("_"))
    words = {
        "@program@": paths.PROGRAM,
        "@name@": name,
        "@op@": op,
        "@Op@": type,
        "@framework@": framework,
        "@origin@": _ORIGINS.get(framework, "{type}").format(type=type, op=op, name=name),
        "@parameter@": _PARAMETERS.get(framework, "factor"),
    }
    with files.replacing_folder(folder) as fresh:
        model = example_models.write(
            framework, fresh / "tests", words["@origin@"], words["@parameter@"]
        )
        words["@model@"] = model.relative_to(fresh).as_posix()
        for template in sorted((paths.root() / "templates" / "plugin").rglob("*.in")):
            place = template.relative_to(paths.root() / "templates" / "plugin").as_posix()
            text = template.read_text(encoding="utf-8")
            for word, value in words.items():
                place, text = place.replace(word, value), text.replace(word, value)
            files.write_text(fresh / place.removesuffix(".in"), text)
    return folder
