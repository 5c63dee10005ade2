"""All errors that a user can meet, each with its own exit code.

A message says what is wrong, where, and what to do next. Exceptions of other libraries (OSError,
subprocess, protobuf, ...) are converted to one of these in the module that calls the library; the
command line catches `TrimtabError` in one place and prints the message without a traceback.
"""

from __future__ import annotations

import operator
import re

MAX_LENGTH = 4000  # characters: messages may quote files, whose text can have any length
_KEPT = 80  # characters at the begin of a long value, and half as many at its end

# A quoted value, or a word, of a length that nobody reads.
_LONG = re.compile(r"(['\"`])(?:(?!\1).){400,}\1|\S{400,}")


class TrimtabError(Exception):
    """Base of all errors that are caused by the user or the environment, not by a bug."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        """`what` went wrong, `where` (file, node, device), and `hint`: what to do next."""
        what, hint = (_LONG.sub(_without_middle, text) for text in (what, hint))
        self.what, self.where, self.hint = map(_shortened, (what, where, hint))
        super().__init__(self.what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  next: {self.hint}" if self.hint else text


def _shortened(text: str) -> str:
    excess = len(text) - MAX_LENGTH
    return text if excess <= 0 else f"{text[:MAX_LENGTH]} ... ({excess:,} more characters)"


def _without_middle(value: re.Match[str]) -> str:
    text = value[0]
    left_out = len(text) - _KEPT - _KEPT // 2
    return f"{text[:_KEPT]} ... ({left_out:,} more characters) ... {text[-_KEPT // 2 :]}"


class UsageError(TrimtabError):
    """An argument is unknown, invalid, or does not fit the others."""

    exit_code = 2


class FileAccessError(TrimtabError):
    """The operating system refuses to read or write a file: disk full, no permission, no folder."""

    exit_code = 3


class ModelFileError(TrimtabError):
    """A model file is missing, unreadable, or not in the format of its suffix."""

    exit_code = 10


class ImportModelError(TrimtabError):
    """A model file is well formed but cannot be imported."""

    exit_code = 11


class UnsupportedOperatorError(ImportModelError):
    """The model uses operators, or forms of operators, that trimtab does not support."""

    exit_code = 12


class DynamicShapeError(ImportModelError):
    """A dimension is dynamic and no value was passed for it."""

    exit_code = 13


class ProgramError(TrimtabError):
    """A program breaks a rule of its operators: wrong inputs, shapes or attributes."""

    exit_code = 14


class TtmError(TrimtabError):
    """A .ttm file is damaged, of another version, or was written with another schema."""

    exit_code = 15


class PlanError(TrimtabError):
    """No kernel fits an operator on the target, or a plan file does not fit the program."""

    exit_code = 16


class CalibrationError(TrimtabError):
    """Samples or ranges for quantization are missing, or do not fit the network."""

    exit_code = 17


class ExportModelError(TrimtabError):
    """A program cannot be written in another model format."""

    exit_code = 18


class SchemaError(TrimtabError):
    """An operator schema, isa.toml, a kernel or a core's file breaks the rules of its format."""

    exit_code = 20


class ProfileError(TrimtabError):
    """A profile is unknown, malformed, or lacks a dependency of an operator that it includes."""

    exit_code = 21


class ToolchainError(TrimtabError):
    """A toolchain is unknown, malformed, or its compiler is missing."""

    exit_code = 22


class BuildError(TrimtabError):
    """The compiler, the linker or CMake failed."""

    exit_code = 23


class EmulatorError(TrimtabError):
    """An emulator is missing or does not start."""

    exit_code = 24


class BinaryFileError(TrimtabError):
    """A file to measure the size of is missing, or is not an ELF executable."""

    exit_code = 25


class BudgetError(TrimtabError):
    """No variant of a network fits the requested number of bytes."""

    exit_code = 26


class PluginError(TrimtabError):
    """A plug-in is missing or invalid."""

    exit_code = 27


class DeviceError(TrimtabError):
    """A device is unknown, or an operation on it failed."""

    exit_code = 30


class DeviceUnreachableError(DeviceError):
    """Nothing answers at the device's address.

    `is_final`: a broken link was waited for, as long as trimtab does.
    """

    exit_code = 31
    is_final = False


class DeviceRefusedError(DeviceError):
    """The device answers but refuses the connection: authentication or protocol."""

    exit_code = 32


class HostKeyError(DeviceError):
    """The device's host key is unknown, or differs from the pinned one."""

    exit_code = 33


class DeviceFullError(DeviceError):
    """The device has no room for a file."""

    exit_code = 34


class DeviceTimeoutError(DeviceError):
    """A command on the device exceeded its time limit."""

    exit_code = 35


class RunnerError(DeviceError):
    """The runner on the device reported an error, or its output is not in its protocol."""

    exit_code = 36


class RunnerCrashedError(RunnerError):
    """A signal killed the runner on the device."""

    exit_code = 37


class DeviceBusyError(DeviceError):
    """Another measurement holds the lease of the device, or has taken it over."""

    exit_code = 38


class DeviceRebootedError(DeviceUnreachableError):
    """The device restarted during a measurement."""

    exit_code = 39


class DeviceOutputError(RunnerError):
    """A command on the device printed more than the limit."""

    exit_code = 45


class WrongOutputError(TrimtabError):
    """The computed output differs from the reference by more than the tolerance."""

    exit_code = 40


class ResultError(TrimtabError):
    """A result file is missing, damaged or of another version, or cannot be written."""

    exit_code = 41


class TruncatedResultError(ResultError):
    """A result file has no end marker: its run was interrupted."""

    exit_code = 42


class RegressionError(TrimtabError):
    """A figure is worse than the committed baseline allows, or has no baseline."""

    exit_code = 43


class StalePagesError(TrimtabError):
    """Generated parts of the documentation differ from what the code generates."""

    exit_code = 44


class SweepError(TrimtabError):
    """Cells of a sweep failed, or no cell has a result."""

    exit_code = 46


class DivergingOperatorError(TrimtabError):
    """A network goes wrong on a device, and `debug` has found where."""

    exit_code = 47


class VerificationError(TrimtabError):
    """A build cannot be repeated to the byte, or a statement does not hold for what it names."""

    exit_code = 48


class MissingRequirementError(TrimtabError):
    """The machine lacks a requirement: a package, a program or a permission."""

    exit_code = 50


def whole_number(name: str, value: object, least: int, most: int | None = None) -> int:
    """`value` as an integer, for an argument `name`.

    Raises UsageError for numbers with a fraction, for other types, and beyond the bounds.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{name} must be a whole number, not {value!r}") from None
    if number < least:
        raise UsageError(f"{name} must be at least {least}, not {number}")
    if most is not None and number > most:
        raise UsageError(f"{name} must be at most {most}, not {number}")
    return number
