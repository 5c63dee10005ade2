"""Every error a user can meet, each with its own exit code.

A message says what is wrong, where, and what to do next. Foreign exceptions (OSError, subprocess,
protobuf, ...) are turned into one of these at the border of the module that meets them; the command
line catches `TrimtabError` in one place and prints the message without a traceback.
"""

from __future__ import annotations

_LONGEST = 4000  # characters: what a file says may be quoted, and be of any length


class TrimtabError(Exception):
    """Base of all errors that are the user's or the environment's, not a bug."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        """`what` went wrong, `where` (file, node, device), and `hint`: what to do next."""
        self.what, self.where, self.hint = map(_shortened, (what, where, hint))
        super().__init__(self.what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  next: {self.hint}" if self.hint else text


def _shortened(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]} ... ({left:,} more characters)"


class UsageError(TrimtabError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2


class FileAccessError(TrimtabError):
    """The operating system refused to read or write a file: no room, no right, no such folder."""

    exit_code = 3


class ModelFileError(TrimtabError):
    """A model file is missing, unreadable, or not of the format it claims."""

    exit_code = 10


class ImportModelError(TrimtabError):
    """A model file is well formed but cannot become a program."""

    exit_code = 11


class UnsupportedOperatorError(ImportModelError):
    """The model uses operators, or forms of operators, that trimtab does not have."""

    exit_code = 12


class DynamicShapeError(ImportModelError):
    """A dimension is free and no value was given for it."""

    exit_code = 13


class ProgramError(TrimtabError):
    """A program breaks a rule of its operators: wrong inputs, shapes or attributes."""

    exit_code = 14


class TtmError(TrimtabError):
    """A .ttm file is damaged, of another version, or was written with another schema."""

    exit_code = 15


class PlanError(TrimtabError):
    """No kernel fits an operator on the target that was asked for."""

    exit_code = 16


class CalibrationError(TrimtabError):
    """Samples or ranges that a network is quantized with are missing, or do not fit it."""

    exit_code = 17


class ExportModelError(TrimtabError):
    """A program cannot be written in another model format."""

    exit_code = 18


class SchemaError(TrimtabError):
    """An operator schema, isa.toml, kernel or core's file breaks the rules of its format."""

    exit_code = 20


class ProfileError(TrimtabError):
    """A profile is unknown, malformed, or lacks something a kept operator depends on."""

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
    """A file whose size is asked for is missing, or is not an ELF executable."""

    exit_code = 25


class BudgetError(TrimtabError):
    """No way to build and store a network keeps within the bytes that were asked for."""

    exit_code = 26


class PluginError(TrimtabError):
    """A plug-in is missing, or something in it is wrong."""

    exit_code = 27


class DeviceError(TrimtabError):
    """A device is unknown, or something on it failed."""

    exit_code = 30


class DeviceUnreachableError(DeviceError):
    """Nothing answers at the device's address."""

    exit_code = 31


class DeviceRefusedError(DeviceError):
    """The device answers but refuses us: authentication, protocol."""

    exit_code = 32


class HostKeyError(DeviceError):
    """The device's host key is unknown, or is not the pinned one."""

    exit_code = 33


class DeviceFullError(DeviceError):
    """No room for a file on the device."""

    exit_code = 34


class DeviceTimeoutError(DeviceError):
    """A command on the device ran longer than it was given."""

    exit_code = 35


class RunnerError(DeviceError):
    """The runner on the device reported an error, or printed what is not its protocol."""

    exit_code = 36


class RunnerCrashedError(RunnerError):
    """A signal killed the runner on the device."""

    exit_code = 37


class DeviceBusyError(DeviceError):
    """Another measurement has the device, or has taken it from this one."""

    exit_code = 38


class DeviceRebootedError(DeviceUnreachableError):
    """A device restarted while it was used."""

    exit_code = 39


class DeviceOutputError(RunnerError):
    """A command on the device printed without end."""

    exit_code = 45


class WrongOutputError(TrimtabError):
    """The computed output differs from the reference by more than the tolerance."""

    exit_code = 40


class ResultError(TrimtabError):
    """A result file is missing, damaged or of another version, or cannot be written."""

    exit_code = 41


class TruncatedResultError(ResultError):
    """A result file has no end marker: its run was cut off."""

    exit_code = 42


class RegressionError(TrimtabError):
    """A figure is worse than the committed baseline allows, or has none."""

    exit_code = 43


class StalePagesError(TrimtabError):
    """Pages of the documentation are not what the code writes."""

    exit_code = 44


class SweepError(TrimtabError):
    """Cells of a sweep failed, or none of them has a result."""

    exit_code = 46


class MissingRequirementError(TrimtabError):
    """Something the machine needs is missing (a package, a program, rights)."""

    exit_code = 50
