"""Scaffolds a built-in operator."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task

NAMESPACE = "op"


@task(
    positional=["name"],
    help={
        "name": "name of the operator, in snake_case",
        "like": "built-in operator to copy",
        "onnx": "its ONNX operator (default: NAME in PascalCase)",
    },
)
def new(_: Context, name: str, like: str, onnx: str = "") -> None:
    """Write a schema, a kernel and a test case as a copy of those of another operator."""
    from lab.new_operator import scaffold
    from trimtab import paths

    result = scaffold.write(paths.root(), name, like, onnx)
    print("\n".join(f"written: {path}" for path in result.written))
    print("\n".join(f"to do: {text}" for text in result.missing))
    print("next: docs/adding-an-operator.md describes how to change the copy and to test it")
