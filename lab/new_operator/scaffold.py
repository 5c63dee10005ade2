"""Copies the sources of a built-in operator as the start of a new one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnx import defs, helper

from trimtab import files, gradients, schema
from trimtab.errors import UsageError
from trimtab.schema import Operator

_FIRST_RESERVED_ID = 100  # ids from here on are grouped by origin
_IMPORTERS = Path("trimtab/importers")
_FUNCTIONS = _IMPORTERS / "onnx_ops" / "elementwise.py"
_EXPORTERS = Path("trimtab/exporters")
_CASES = Path("tests/ops/cases")
_KERNELS = Path("kernels/generic")
_OPS = Path("runtime/ops")
_PARAMETERS = ("alpha", "beta")  # of a unary operator
_OPSET = 17  # of the test cases


@dataclass
class Scaffold:
    """The files that were `written`, and the steps that have no template (`missing`)."""

    written: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def write(root: Path, name: str, like: str, onnx: str = "") -> Scaffold:
    """Writes operator `name` into the checkout `root` as a copy of the operator `like`.

    `onnx`: its name in ONNX; default: NAME in PascalCase, if ONNX has that.
    UsageError if the name is invalid or used, if there is no operator `like`, or if ONNX has none
    of the name `onnx`.
    """
    operators = schema.operators()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in operators:
        raise UsageError(
            f"{name!r} is not a free name", hint="choose an unused name in snake_case, as in ONNX"
        )
    template = schema.operator(like)
    if onnx and not defs.has(onnx):
        names = difflib.get_close_matches(onnx, [one.name for one in defs.get_all_schemas()])
        near = f"such as {', '.join(names)}, or " if names else ""
        raise UsageError(f"ONNX has no operator {onnx!r}", hint=f"{near}leave out --onnx")
    name_in_onnx = onnx or (_pascal(name) if defs.has(_pascal(name)) else "")
    return _OperatorCopy(root, name, template, name_in_onnx).run()


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _first_version(operator: defs.OpSchema) -> int:
    """The first opset in which an operator has its attributes of today."""
    return min(
        one.since_version
        for one in defs.get_all_schemas_with_history()
        if one.name == operator.name and one.domain == operator.domain
        if one.attributes.keys() == operator.attributes.keys()
    )


def _number(value: float) -> str:
    """The shortest text of a float32."""
    return f"{value:.8g}" if value % 1 else f"{value:.1f}"


class _OperatorCopy:
    def __init__(self, root: Path, name: str, template: Operator, onnx: str) -> None:
        self._root, self._name, self._template, self._onnx = root, name, template, onnx
        self._in_onnx = defs.get_schema(onnx) if onnx else None
        self._result = Scaffold()

    def run(self) -> Scaffold:
        self._schema()
        self._source()
        self._kernel()
        if self._in_onnx:
            self._case()
            self._import()
        else:
            self._result.missing.append("test cases and importers: ONNX has no such operator")
        self._elsewhere()
        return self._result

    def _put(self, path: Path, text: str) -> None:
        files.write_text(self._root / path, text)
        self._result.written.append(path)

    @property
    def _parameters(self) -> dict[str, Any]:
        """The parameters of the operator in ONNX with their defaults, in the order of alpha and
        beta: those of the same names first.
        """
        if not self._in_onnx:
            return {}
        own = self._in_onnx.attributes
        values = {
            name: helper.get_attribute_value(one.default_value) if one.default_value.name else 0.0
            for name, one in own.items()
            if one.type == defs.OpSchema.AttrType.FLOAT
        }
        same = [name for name in _PARAMETERS if name in values]
        others = sorted(values.keys() - {*same}, reverse=True)  # lambd before bias
        return {name: values[name] for name in (*same, *others)}

    def _schema(self) -> None:
        like = self._template.name
        ids = {op.id for op in schema.operators().values()}
        new_id = next(i for i in range(_FIRST_RESERVED_ID) if i > 0 and i not in ids)
        text = (self._root / _OPS / f"{like}.toml").read_text(encoding="utf-8")
        text = re.sub(r"^id = \d+$", f"id = {new_id}", text, flags=re.MULTILINE)
        onnx = f'onnx = "{self._onnx}"\n' if self._onnx else ""
        text = re.sub(r'^onnx = ".*"\n', onnx, text, flags=re.MULTILINE)
        text = text.replace(f'families = ["{like}"]', f'families = ["{self._name}"]')
        if self._template.kind == "unary" and self._in_onnx:
            block = re.compile(r"^\[attributes\.\w+\]\n(?:.+\n)*\n?", re.MULTILINE)
            text = block.sub("", text)
            text = text.replace("[plan.kernel]", f"{''.join(self._attributes())}[plan.kernel]", 1)
        self._put(_OPS / f"{self._name}.toml", text)

    def _attributes(self) -> Iterator[str]:
        """The blocks of a unary operator's attributes in its schema."""
        assert self._in_onnx
        for own, (name, default) in zip(_PARAMETERS, self._parameters.items(), strict=False):
            doc = (
                self._in_onnx.attributes[name].description.split(".")[0].replace("\n", " ").strip()
            )
            yield f'[attributes.{own}]\ntype = "float"\ndoc = "{doc}"\n'
            yield f"default = {_number(default)}\n"
            yield f'onnx = "{name}"\n\n' if own != name else "\n"

    def _source(self) -> None:
        """Copies the .cpp file; unary operators without one need none."""
        path = self._root / _OPS / f"{self._template.name}.cpp"
        if path.is_file():
            self._put(_OPS / f"{self._name}.cpp", self._renamed(path.read_text(encoding="utf-8")))

    def _kernel(self) -> None:
        """Copies the kernel function, if the operator's family has a generic one."""
        like = self._template.name
        if like not in self._template.families:
            return
        function = re.compile(
            rf"TRIMTAB_FAMILY\([^\n]*\)\n(?:template [^\n]*\n)?inline void {_pascal(like)}\("
            r".*?\n\}\n",
            re.DOTALL,
        )
        for path in sorted((self._root / _KERNELS).glob("*.h")):
            text = path.read_text(encoding="utf-8")
            if match := function.search(text):
                copy = re.sub(rf"void {_pascal(like)}\(", f"void {_pascal(self._name)}(", match[0])
                text = f"{text[: match.end()]}\n{copy}{text[match.end() :]}"
                self._put(path.relative_to(self._root), text)
                return
        self._result.missing.append(f"a kernel of the family {self._name}: docs/adding-a-kernel.md")

    def _case(self) -> None:
        """Writes test cases beside those of the template, if these are lines of a table: with the
        defaults of ONNX, and with other parameters.
        """
        assert self._in_onnx
        line = re.compile(rf'^ +\("{self._template.onnx}",.*\n', re.MULTILINE)
        opset = max(_OPSET, _first_version(self._in_onnx))
        for path in sorted((self._root / _CASES).glob("*.py")):
            text = path.read_text(encoding="utf-8")
            if f'"{self._onnx}"' in text:
                return
            if self._template.onnx and (matches := list(line.finditer(text))):
                others = {name: value + 0.25 for name, value in self._parameters.items()}
                rows: list[tuple[str, dict[str, float]]] = [("", {})] + [
                    ("parameters", others)
                ] * bool(others)
                added = "".join(
                    f'    ("{self._onnx}", "{id}", {values}, {opset}),\n'.replace("'", '"')
                    for id, values in rows
                )
                end = matches[-1].end()
                self._put(path.relative_to(self._root), f"{text[:end]}{added}{text[end:]}")
                return
        self._result.missing.append(f"test cases in {_CASES}/")

    def _import(self) -> None:
        """Removes the word of an import as other operators: a unary operator whose schema has
        `onnx` is imported without one.
        """
        if self._template.kind != "unary":
            self._result.missing.append("a handler in trimtab/importers/onnx_ops/")
            return
        text = (self._root / _FUNCTIONS).read_text(encoding="utf-8")
        word = re.compile(rf'^ +"{self._onnx}": Function\(.*\n', re.MULTILINE)
        if match := word.search(text):
            self._put(_FUNCTIONS, text[: match.start()] + text[match.end() :])
        for place in self._locations(_IMPORTERS / "onnx_ops", rf'@handles\(.*"{self._onnx}"'):
            self._result.missing.append(f"its import as other operators is still at {place}")

    def _elsewhere(self) -> None:
        """Names the places that know the template, and which no copy can be made of."""
        like = self._template.name
        if like in gradients.rules():
            self._result.missing.append(
                f"a gradient in trimtab/gradients/, if it is to be trained, as {like} has"
            )
        for place in self._locations(_EXPORTERS, rf'"{like}"'):
            self._result.missing.append(f"an exporter, if its format has the operator: {place}")
        for place in self._locations(_IMPORTERS, rf'Function\("{like}"'):
            if _FUNCTIONS.as_posix() not in place:
                self._result.missing.append(f"an importer, if its format has it: {place}")

    def _locations(self, folder: Path, pattern: str) -> Iterator[str]:
        """The files and lines below a folder that match a pattern."""
        for path in sorted((self._root / folder).rglob("*.py")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if re.search(pattern, line):
                    yield f"{path.relative_to(self._root).as_posix()}:{number}"

    def _renamed(self, text: str) -> str:
        like = self._template.name
        text = re.sub(rf"\b{_pascal(like)}(?=\b|Attributes)", _pascal(self._name), text)
        return text.replace(f'"{like}"', f'"{self._name}"')
