"""Every bug that can be planted in a Python module, found in its syntax tree.

Docstrings, annotations, decorators, texts of messages and reports of progress stay as they are: a
test that noticed them would test words.
"""

from __future__ import annotations

import ast
from itertools import accumulate

from lab.mutate.mutants import Mutant

_BOUNDS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_TURNED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*"}
_CHOICES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
# Calls that only report, and keywords that no result depends on.
_REPORTS = {"note", "update", "print", "warn", "option", "argument", "group"}
_SILENT_KEYWORDS = {"strict", "check", "text", "capture_output", "hint", "help", "frozen", "still"}


def find(file: str, source: str) -> list[Mutant]:
    """All mutants of a module, by their place."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return sorted(finder.mutants, key=lambda mutant: (mutant.start, mutant.kind, mutant.text))


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: str) -> None:
        self.mutants: list[Mutant] = []
        self._file, self._source = file, source
        lines = source.splitlines(keepends=True)
        self._lines = lines
        self._starts = [0, *accumulate(map(len, lines))]

    # Places.

    def _offset(self, line: int, column: int) -> int:
        """An offset in characters; the tree counts columns in bytes."""
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        begin = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return begin, end

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        line = self._source.count("\n", 0, start) + 1
        self.mutants.append(Mutant(self._file, kind, line, start, end, text))

    def _replace(self, kind: str, node: ast.AST, text: str) -> None:
        self._add(kind, *self._span(node), text)

    def _between(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Replaces an operator's sign between two operands."""
        begin, end = self._span(left)[1], self._span(right)[0]
        at = self._source.find(old, begin, end)
        if at >= 0:
            self._add(kind, at, at + len(old), new)

    # Parts that stay.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A formatted text."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """The words of an error."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _SILENT_KEYWORDS:
            self.visit(node.value)

    # Bugs.

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Call) or _name(node.value) in _REPORTS:
            return
        if node.lineno == node.end_lineno:
            self._replace("step", node, "pass")
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node.body[-1], _LEAVES) and not node.orelse:
            self._replace("check", node.test, "False")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            (op,), (right,) = node.ops, node.comparators
            old = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}.get(
                type(op)
            ) or ast.unparse(node).removeprefix(ast.unparse(node.left)).split()[0]
            for kind, signs in (("bound", _BOUNDS), ("comparison", _TURNED)):
                if type(op) in signs:
                    self._between(kind, node.left, right, old, signs[type(op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._between("logic", node.values[0], node.values[1], old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            begin, end = self._span(node)
            operand = self._source[slice(*self._span(node.operand))]
            self._add("logic", begin, end, f"({operand})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"}
        texts = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)
        has_text = any(
            isinstance(side, texts) or (isinstance(side, ast.Constant) and type(side.value) is str)
            for side in (node.left, node.right)
        )
        if type(node.op) in _ARITHMETIC and not has_text:
            new = _ARITHMETIC[type(node.op)]
            self._between("arithmetic", node.left, node.right, sign[type(node.op)], new)
        if (
            isinstance(node.op, ast.Add | ast.Sub)
            and isinstance(node.right, ast.Constant)
            and node.right.value == 1
        ):
            self._add("bound", self._span(node.left)[1], self._span(node)[1], "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _CHOICES:
            self._replace("choice", node.func, _CHOICES[node.func.id])
        if _name(node) in _REPORTS or _name(node).endswith(("Error", "Warning")):
            return
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace("constant", node, str(node.value + 1))
        elif isinstance(node.value, float):
            self._replace("constant", node, repr(node.value * 2 + 1))


def _name(call: ast.Call) -> str:
    """The last part of the name of a called function."""
    return ast.unparse(call.func).rpartition(".")[2]
