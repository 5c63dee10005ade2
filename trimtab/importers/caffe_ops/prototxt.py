"""The messages of a .prototxt file, parsed without a schema.

Every fork of Caffe adds fields to caffe.proto, so there is no complete schema. Handlers read fields
by name, with the type and default of caffe.proto. `Message.unread` lists the fields that no handler
has read, because they may change the result. Syntax:
https://protobuf.dev/reference/protobuf/textformat-spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import text_format

from trimtab.errors import ImportModelError, ModelFileError

MAX_DEPTH = 20  # known networks have a depth of four

_SHOWN = 300  # characters of a syntax error, which quotes the whole line
_CLOSING = {"{": "}", "<": ">"}
_BOOLEANS = {"true": True, "True": True, "t": True, "1": True}
_BOOLEANS |= {"false": False, "False": False, "f": False, "0": False}


@dataclass(frozen=True)
class Scalar:
    """The text of a number, an identifier or a string, and its line (from 1)."""

    text: str
    line: int


@dataclass
class Message:
    """Fields by name, in the order of the file; `where` is file and line, for errors."""

    where: str
    fields: dict[str, list[Scalar | Message]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether the field is present."""
        return name in self.fields

    def unread(self) -> list[str]:
        """Fields that no handler has read."""
        return [name for name in self.fields if name not in self.read]

    def data(self) -> dict[str, Any]:
        """All fields as plain data: strings and dictionaries, and lists for repeated fields."""
        lists = {name: [_plain(value) for value in values] for name, values in self.fields.items()}
        return {name: v[0] if len(v) == 1 else v for name, v in lists.items()}

    def message(self, name: str) -> Message:
        """A message field; an empty message if it is absent."""
        messages = self.messages(name)
        return messages[-1] if messages else Message(self.where)

    def messages(self, name: str) -> list[Message]:
        """A repeated message field."""
        values = self._values(name)
        for value in values:
            if isinstance(value, Scalar):
                raise self._invalid(name, value, "a message in braces")
        return [value for value in values if isinstance(value, Message)]

    def texts(self, name: str) -> list[str]:
        """A repeated field of strings or identifiers, which may be names of files."""
        scalars = self._scalars(name)
        for scalar in scalars:
            if "\0" in scalar.text:
                raise self._invalid(name, scalar, "a text without NUL")
        return [scalar.text for scalar in scalars]

    def text(self, name: str, default: str = "") -> str:
        """A string or identifier."""
        texts = self.texts(name)
        return texts[-1] if texts else default

    def integers(self, name: str) -> list[int]:
        """A repeated field of integers."""
        result = []
        for scalar in self._scalars(name):
            try:
                result.append(int(scalar.text, 0))
            except ValueError:
                raise self._invalid(name, scalar, "an integer") from None
        return result

    def integer(self, name: str, default: int) -> int:
        """An integer."""
        integers = self.integers(name)
        return integers[-1] if integers else default

    def reals(self, name: str) -> list[float]:
        """A repeated field of floats."""
        result = []
        for scalar in self._scalars(name):
            try:
                result.append(float(scalar.text.rstrip("fF")))
            except ValueError:
                raise self._invalid(name, scalar, "a number") from None
        return result

    def real(self, name: str, default: float) -> float:
        """A float."""
        reals = self.reals(name)
        return reals[-1] if reals else default

    def boolean(self, name: str, default: bool) -> bool:
        """A boolean."""
        values = self.booleans(name)
        return values[-1] if values else default

    def booleans(self, name: str) -> list[bool]:
        """A repeated field of booleans."""
        scalars = self._scalars(name)
        for scalar in scalars:
            if scalar.text not in _BOOLEANS:
                raise self._invalid(name, scalar, "true or false")
        return [_BOOLEANS[scalar.text] for scalar in scalars]

    def choice(self, name: str, values: tuple[str, ...], default: str) -> str:
        """An enumeration: the name of a value, or its number."""
        scalars = self._scalars(name)
        text = scalars[-1].text if scalars else default
        if text.isdecimal() and int(text) < len(values):
            return values[int(text)]
        if text not in values:
            raise self._invalid(name, scalars[-1], f"one of {', '.join(values)}")
        return text

    def _values(self, name: str) -> list[Scalar | Message]:
        self.read.add(name)
        return self.fields.get(name, [])

    def _scalars(self, name: str) -> list[Scalar]:
        values = self._values(name)
        if any(isinstance(value, Message) for value in values):
            raise ImportModelError(
                f"'{name}' is a message, not a value", where=self.where, hint="correct the field"
            )
        return [value for value in values if isinstance(value, Scalar)]

    def _invalid(self, name: str, value: Scalar, expected: str) -> ImportModelError:
        return ImportModelError(
            f"'{name}' is {value.text!r} (line {value.line}), not {expected}",
            where=self.where,
            hint="correct the field",
        )


def _plain(value: Scalar | Message) -> Any:
    return value.text if isinstance(value, Scalar) else value.data()


def parse(text: str, path: str) -> Message:
    """The message of a file; ModelFileError names the line and column of a syntax error."""
    lines = _Lines(text)
    try:
        tokenizer = text_format.Tokenizer(lines)
        message = Message(path)
        for name, value in _fields(tokenizer, lines, path, "", 0):
            message.fields.setdefault(name, []).append(value)
        return message
    except text_format.ParseError as error:
        raise ModelFileError(
            f"is not a network as text: {_shown(str(error))}",
            where=path,
            hint="check this place in the file",
        ) from None


def _shown(message: str) -> str:
    """A syntax error without the middle of a long line: place and reason are at its ends."""
    if len(message) <= _SHOWN:
        return message
    return f"{message[: _SHOWN // 2]} ... {message[-_SHOWN // 2 :]}"


class _Lines:
    """The lines of a text and the number of those that the tokenizer has read."""

    def __init__(self, text: str) -> None:
        self._lines = iter(text.splitlines())
        self.count = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.count += 1
        return line


def _fields(
    tokenizer: text_format.Tokenizer, lines: _Lines, path: str, closing: str, depth: int
) -> Iterator[tuple[str, Scalar | Message]]:
    """The fields up to the closing bracket or the end of the file."""
    while not (tokenizer.TryConsume(closing) if closing else tokenizer.AtEnd()):
        name = tokenizer.ConsumeIdentifier()
        tokenizer.TryConsume(":")
        if tokenizer.TryConsume("["):
            while not tokenizer.TryConsume("]"):
                yield name, _value(tokenizer, lines, path, depth)
                tokenizer.TryConsume(",")
        else:
            yield name, _value(tokenizer, lines, path, depth)
        if not tokenizer.TryConsume(","):
            tokenizer.TryConsume(";")


def _value(
    tokenizer: text_format.Tokenizer, lines: _Lines, path: str, depth: int
) -> Scalar | Message:
    line = lines.count
    token = tokenizer.token
    if token in _CLOSING:
        if depth >= MAX_DEPTH:
            raise tokenizer.ParseError(f"messages are nested more than {MAX_DEPTH} deep")
        tokenizer.NextToken()
        message = Message(f"{path}, line {line}")
        for name, value in _fields(tokenizer, lines, path, _CLOSING[token], depth + 1):
            message.fields.setdefault(name, []).append(value)
        return message
    if token[:1] in ("'", '"'):
        return Scalar(tokenizer.ConsumeString(), line)
    if not token or not (token[0].isalnum() or token[0] in "+-._"):
        raise tokenizer.ParseError(f"expected a value, found {token!r}")
    tokenizer.NextToken()
    return Scalar(token, line)
