"""Tasks about results that need not be believed: verify, sign."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trimtab.cli._command import argument, command, option
from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"

_TARGET = "folder of `build`, or a run: a file, a run id or `last`"
_REPORT = "a report of the run, as a file"


@dataclass(frozen=True, kw_only=True)
class SignOptions:
    """Options of `sign`."""

    target: str = argument(f"{_TARGET}; the statement is written beside it")
    key: str = option("private key of OpenSSH, or the public half of one that the agent has")
    report: tuple[str, ...] = option(f"{_REPORT} (repeatable)", ())
    results: str = option(RESULTS_HELP)


@command(SignOptions)
def sign(options: SignOptions) -> None:
    """Sign a statement about a build or a run: its files by SHA-256, and how they were made."""
    from trimtab import files
    from trimtab.errors import UsageError
    from trimtab.verification import checks, signature, statement

    if not options.key:
        raise UsageError("with which key?", hint="--key ~/.ssh/id_ed25519")
    target, reports = _found(options.target, options.results), _reports(options.report)
    checks.recorded_build(target)
    make = statement.of_folder if target.is_dir() else statement.of_run
    envelope = signature.sign(make(target, reports), Path(options.key).expanduser())
    files.write_text(statement.place(target), envelope)
    print(f"written: {statement.place(target)}")


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options of `verify`."""

    target: str = argument(_TARGET)
    model: str = option("where the model lies now; default: where the build found it")
    signers: str = option("OpenSSH's file of allowed signers; default: any key, which is told")
    report: tuple[str, ...] = option(f"{_REPORT} that the statement must name (repeatable)", ())
    rebuild: bool = option("build it again and compare; --no-rebuild checks signatures alone", True)
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)


@command(VerifyOptions, engine=True)
def verify(options: VerifyOptions) -> None:
    """Check the signature of a build or a run, build it again, and compare the bytes."""
    from trimtab import strict_json
    from trimtab.cli._progress import shown
    from trimtab.errors import VerificationError
    from trimtab.verification import checks

    target = _found(options.target, options.results)
    recorded = checks.recorded_build(target)
    signers = Path(options.signers).expanduser() if options.signers else None
    signed = checks.check_signature(target, signers, _reports(options.report))
    if not options.rebuild:
        print(strict_json.dumps({"signed": signed}) if options.json else signed)
        return
    outcome = checks.compare(recorded, options.model, shown(quiet=options.json))
    if options.json:
        rows = strict_json.loads(outcome.table.json())
        print(strict_json.dumps({"signed": signed, "files": rows}, indent=1))
    else:
        print(f"{outcome.table.text()}\n\n{signed}")
    if outcome.difference:
        raise VerificationError(
            f"the recipe gives other bytes; the first difference is in {outcome.difference}",
            where=str(target),
            hint=outcome.tools or "the files, or the record, are not what this recipe builds",
        )


def _found(target: str, results: str) -> Path:
    """The folder or the record that the user names; UsageError if there is none."""
    from trimtab.results import index
    from trimtab.results.folder import results_folder

    return Path(target) if Path(target).is_dir() else index.find(target, results_folder(results))


def _reports(names: tuple[str, ...]) -> tuple[Path, ...]:
    from trimtab.errors import UsageError

    for name in names:
        if not Path(name).is_file():
            raise UsageError("the report does not exist", where=name, hint="./inv report --output")
    return tuple(map(Path, names))
