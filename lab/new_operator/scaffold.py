"""Copies the sources of a built-in operator as the start of a new one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from trimtab import files, schema
from trimtab.errors import UsageError
from trimtab.schema import Operator

_FIRST_RESERVED_ID = 100  # ids from here on are grouped by origin
_IMPORTER = Path("trimtab/importers/onnx_ops/elementwise.py")
_CASES = Path("tests/ops/cases")
_KERNELS = Path("kernels/generic")
_OPS = Path("runtime/ops")


@dataclass
class Scaffold:
    """The files that were `written`, and the steps that have no template (`missing`)."""

    written: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def write(root: Path, name: str, like: str, onnx: str = "") -> Scaffold:
    """Writes operator `name` into the checkout `root` as a copy of the operator `like`.

    UsageError if the name is invalid or used, or if there is no operator `like`.
    """
    operators = schema.operators()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in operators:
        raise UsageError(
            f"{name!r} is not a free name", hint="choose an unused name in snake_case, as in ONNX"
        )
    template = schema.operator(like)
    return _OperatorCopy(root, name, template, onnx or _pascal(name)).run()


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


class _OperatorCopy:
    def __init__(self, root: Path, name: str, template: Operator, onnx: str) -> None:
        self._root, self._name, self._template, self._onnx = root, name, template, onnx
        self._result = Scaffold()

    def run(self) -> Scaffold:
        self._schema()
        self._source()
        self._kernel()
        self._case()
        self._importer_word()
        return self._result

    def _put(self, path: Path, text: str) -> None:
        files.write_text(self._root / path, text)
        self._result.written.append(path)

    def _schema(self) -> None:
        like = self._template.name
        ids = {op.id for op in schema.operators().values()}
        new_id = next(i for i in range(_FIRST_RESERVED_ID) if i > 0 and i not in ids)
        text = (self._root / _OPS / f"{like}.toml").read_text(encoding="utf-8")
        text = re.sub(r"^id = \d+$", f"id = {new_id}", text, flags=re.MULTILINE)
        text = re.sub(r'^onnx = ".*"$', f'onnx = "{self._onnx}"', text, flags=re.MULTILINE)
        text = text.replace(f'families = ["{like}"]', f'families = ["{self._name}"]')
        self._put(_OPS / f"{self._name}.toml", text)

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
        """Copies the test cases that are one line of a table."""
        line = re.compile(rf'^ +\("{self._template.onnx}",.*\n', re.MULTILINE)
        for path in sorted((self._root / _CASES).glob("*.py")):
            text = path.read_text(encoding="utf-8")
            if self._template.onnx and (matches := list(line.finditer(text))):
                copies = "".join(m[0].replace(self._template.onnx, self._onnx, 1) for m in matches)
                end = matches[-1].end()
                self._put(path.relative_to(self._root), f"{text[:end]}{copies}{text[end:]}")
                return
        self._result.missing.append(f"test cases in {_CASES}/")

    def _importer_word(self) -> None:
        text = (self._root / _IMPORTER).read_text(encoding="utf-8")
        word = re.compile(rf'^ +"\w+": Function\("{self._template.name}".*\n', re.MULTILINE)
        match = word.search(text)
        if not match:
            self._result.missing.append("a handler in trimtab/importers/onnx_ops/")
            return
        copy = re.sub(
            r'"\w+": Function\("\w+"', f'"{self._onnx}": Function("{self._name}"', match[0]
        )
        self._put(_IMPORTER, f"{text[: match.end()]}{copy}{text[match.end() :]}")

    def _renamed(self, text: str) -> str:
        like = self._template.name
        text = re.sub(rf"\b{_pascal(like)}(?=\b|Attributes)", _pascal(self._name), text)
        return text.replace(f'"{like}"', f'"{self._name}"')
