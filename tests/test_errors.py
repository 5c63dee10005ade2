"""Errors: the exit codes that scripts rely on, and the length of a message."""

from __future__ import annotations

import inspect

from trimtab import errors
from trimtab.errors import TrimtabError, UsageError

EXIT_CODES = {
    "TrimtabError": 1,
    "UsageError": 2,
    "FileAccessError": 3,
    "ModelFileError": 10,
    "ImportModelError": 11,
    "UnsupportedOperatorError": 12,
    "DynamicShapeError": 13,
    "ProgramError": 14,
    "TtmError": 15,
    "PlanError": 16,
    "CalibrationError": 17,
    "ExportModelError": 18,
    "SchemaError": 20,
    "ProfileError": 21,
    "ToolchainError": 22,
    "BuildError": 23,
    "EmulatorError": 24,
    "BinaryFileError": 25,
    "BudgetError": 26,
    "PluginError": 27,
    "DeviceError": 30,
    "DeviceUnreachableError": 31,
    "DeviceRefusedError": 32,
    "HostKeyError": 33,
    "DeviceFullError": 34,
    "DeviceTimeoutError": 35,
    "RunnerError": 36,
    "RunnerCrashedError": 37,
    "DeviceBusyError": 38,
    "DeviceRebootedError": 39,
    "WrongOutputError": 40,
    "ResultError": 41,
    "TruncatedResultError": 42,
    "RegressionError": 43,
    "StalePagesError": 44,
    "DeviceOutputError": 45,
    "SweepError": 46,
    "DivergingOperatorError": 47,
    "VerificationError": 48,
    "MissingRequirementError": 50,
}
"""The contract with scripts; a new class takes a new code."""


def test_the_exit_code_of_an_error_never_changes() -> None:
    classes = {
        name: error.exit_code
        for name, error in vars(errors).items()
        if inspect.isclass(error) and issubclass(error, TrimtabError)
    }
    assert {name: classes.get(name) for name in EXIT_CODES} == EXIT_CODES


def test_a_message_is_cut_only_where_it_is_too_long() -> None:
    limit = errors.MAX_LENGTH
    words = "word " * limit
    assert "more characters" not in str(UsageError(words[:limit]))
    assert "... (1 more characters)" in str(UsageError(words[: limit + 1]))
