"""The reference of the Python API, from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import trimtab
from lab.docs.generator import reference
from trimtab import errors
from trimtab.tables import Column, Markup, Page, Table, number


class _Annotation(str):
    """An annotation as it stands in the source."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_MEMBERS = (FunctionType, staticmethod, classmethod, property)


@reference("Names of the Python API")
def python_api() -> Page:
    """An index, and one section per public name of the package."""
    names = sorted((name for name in dir(trimtab) if name[0] != "_"), key=str.lower)
    index = ", ".join(f"[{name}](#{name.lower()})" for name in names)
    return [f"{len(names)} names: {index}.", *(part for n in names for part in _section(n))]


@reference("Error classes and exit codes")
def error_classes() -> Page:
    """One row per error class, by exit code."""
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.TrimtabError)
    ]
    ordered = sorted(classes, key=lambda c: c.exit_code)
    codes = ", ".join(f"{c.exit_code} `{c.__name__}`" for c in ordered)
    rows = [
        (
            Markup(f"`{c.__name__}`"),
            Markup(f"`{c.__bases__[0].__name__}`"),
            c.exit_code,
            Markup(_brief(c)),
        )
        for c in ordered
    ]
    return [
        f"Exit codes: {codes}.",
        Table([Column("class"), Column("is a"), number("exit code"), Column("when")], rows),
    ]


def _section(name: str) -> Iterator[str]:
    value = getattr(trimtab, name)
    yield f"### {name}"
    if isinstance(value, ModuleType):
        yield from _text(value)
        for member, function in _functions(value):
            yield from _callable(f"{name}.{member}", function)
    elif isinstance(value, type):
        yield from _class(name, value)
    else:
        yield from _callable(name, value)


def _class(name: str, value: type) -> Iterator[str]:
    yield _code(name, value)
    yield from _text(value)
    for member, attribute in _members(value):
        if isinstance(attribute, property):
            yield f"`{name}.{member}`"
            yield from _text(attribute)
        else:
            function = getattr(value, member)
            # Of a method without its self.
            bound = function.__get__(object()) if inspect.isfunction(attribute) else function
            yield from _callable(f"{name}.{member}", bound)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, in the order of its source."""
    fields = {field.name for field in dataclasses.fields(value)} if _is_record(value) else set()
    for name, attribute in vars(value).items():
        if not name.startswith("_") and name not in fields and isinstance(attribute, _MEMBERS):
            yield name, attribute


def _is_record(value: type) -> bool:
    return dataclasses.is_dataclass(value)


def _functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    for name, value in vars(module).items():
        own = isinstance(value, FunctionType) and value.__module__ == module.__name__
        if own and not name.startswith("_"):
            yield name, value


def _callable(name: str, function: Any) -> Iterator[str]:
    yield _code(name, function)
    yield from _text(function)


def _code(name: str, value: Any) -> str:
    """The signature, with one parameter per line if it is long."""
    signature = inspect.signature(value)
    parameters = [
        p.replace(annotation=_Annotation(p.annotation)) if p.annotation is not p.empty else p
        for p in signature.parameters.values()
    ]
    result = signature.return_annotation
    is_class = isinstance(value, type)
    end = "" if is_class or result is signature.empty else f" -> {result}"
    line = f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"
    if len(line + end) > 96:
        head, rest = f"{name}(", [str(p) for p in parameters]
        kinds = [p.kind for p in parameters]
        named = inspect.Parameter.KEYWORD_ONLY
        if named in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
            rest.insert(kinds.index(named), "*")
        line = "\n".join([head, *(f"    {text}," for text in rest), ")"])
    return f"```python\n{line}{end}\n```"


def _text(value: object) -> Iterator[str]:
    """The paragraphs of a docstring; code keeps its lines."""
    for paragraph in (inspect.getdoc(value) or "").split("\n\n"):
        lines = paragraph.splitlines()
        if lines and all(line.startswith("    ") for line in lines):
            yield paragraph
        elif lines:
            yield " ".join(line.strip() for line in lines)


def _brief(value: type) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
