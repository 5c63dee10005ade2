"""The task for results that need not be believed: verify."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trimtab.cli._command import argument, command, option
from trimtab.cli._options import RESULTS_HELP
from trimtab.paths import PROGRAM

GROUP = "Compare and report"


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options of `verify`."""

    target: str = argument("folder of `build`, or a run: a file, a run id or `last`")
    model: str = option("where the model lies now; default: where the build found it")
    signers: str = option(
        "OpenSSH's file of allowed signers; default: any of its keys, which is told; or a public "
        "key of minisign"
    )
    report: tuple[str, ...] = option("file that the statement must be about, too (repeatable)", ())
    sign: str = option(
        "if all bytes are equal, sign a new statement with this key: a private one of OpenSSH, "
        "the public half of one that the agent has, or a secret one of minisign"
    )
    rebuild: bool = option("build it again and compare; --no-rebuild checks signatures alone", True)
    output: str = option("also write a page about the statement and the files: FILE.html")
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)

    def validate(self) -> None:
        """ResultError if the page cannot be written."""
        from trimtab.reports.rendering import check_output

        check_output(self.output)


@command(VerifyOptions, engine=True)
def verify(options: VerifyOptions) -> None:
    """Check the signature of a build or a run, build it again, compare the bytes; or sign it."""
    from trimtab import files, strict_json
    from trimtab.cli._progress import shown
    from trimtab.errors import VerificationError
    from trimtab.verification import checks, page, signature, statement

    target, reports = _found(options.target, options.results), _reports(options.report)
    recorded = checks.recorded_build(target)
    facts: dict[str, object] = {}
    signers = Path(options.signers).expanduser() if options.signers else None
    table = None
    if not options.sign:
        facts["signed"] = checks.check_signature(target, signers, reports)
    if options.rebuild:
        outcome = checks.compare(recorded, options.model, shown(quiet=options.json))
        table = outcome.table
        facts["files"] = strict_json.loads(table.json())
        if not options.json:
            print(f"{table.text()}\n")
        if outcome.difference:
            raise VerificationError(
                f"the recipe gives other bytes; the first difference is in {outcome.difference}",
                where=str(target),
                hint=outcome.tools or "the files, or the record, are not what this recipe builds",
            )
    if options.sign:
        envelope = signature.sign(statement.about(target, reports), Path(options.sign).expanduser())
        files.write_text(statement.place(target), envelope)
        facts["signed"] = f"written: {statement.place(target)}"
    if options.output:
        text = page.to_html(target, str(facts["signed"]), table, signers)
        files.write_text(Path(options.output), text)
    print(strict_json.dumps(facts, indent=1) if options.json else facts["signed"])


def _found(target: str, results: str) -> Path:
    """The folder or the record that the user names; UsageError if there is none."""
    from trimtab.results import index
    from trimtab.results.folder import results_folder

    return Path(target) if Path(target).is_dir() else index.find(target, results_folder(results))


def _reports(names: tuple[str, ...]) -> tuple[Path, ...]:
    from trimtab.errors import UsageError

    for name in names:
        if not Path(name).is_file():
            raise UsageError(
                "the report does not exist", where=name, hint=f"{PROGRAM} report --output"
            )
    return tuple(map(Path, names))
