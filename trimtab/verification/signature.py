"""Signatures of OpenSSH (`ssh-keygen -Y`) in envelopes of DSSE.

An envelope is the JSON of https://github.com/secure-systems-lab/dsse, protocol 1.0.2; its signature
covers the pre-authentication encoding of the payload.
"""

from __future__ import annotations

import base64
import binascii
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from trimtab import files, strict_json
from trimtab.errors import MissingRequirementError, VerificationError

PAYLOAD = "application/vnd.in-toto+json"
_NAMESPACE = "trimtab"


def sign(statement: dict[str, Any], key: Path) -> str:
    """The envelope of a statement, signed with an OpenSSH key: a private one, or the public half of
    one that the agent has. VerificationError if OpenSSH refuses.
    """
    payload = strict_json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signed = _ssh_keygen(["sign", "-f", str(key), "-n", _NAMESPACE], _encoded(payload))
    if signed.returncode:
        raise VerificationError(
            f"ssh-keygen cannot sign: {signed.stderr.decode(errors='replace').strip()}",
            where=str(key),
            hint="name a private key of OpenSSH with --sign, such as ~/.ssh/id_ed25519",
        )
    signature = {"sig": base64.b64encode(signed.stdout).decode()}
    envelope = {"payloadType": PAYLOAD, "payload": base64.b64encode(payload).decode()}
    return strict_json.dumps({**envelope, "signatures": [signature]}, indent=1) + "\n"


def verified(envelope: Path, signers: Path | None = None) -> tuple[dict[str, Any], str]:
    """The statement of an envelope, and who signed it, in words.

    `signers`: a file of allowed signers (ssh-keygen(1)); without it, a good signature of any key is
    accepted, and the key is told. VerificationError for anything else.
    """
    try:
        values = strict_json.loads(envelope.read_text(encoding="utf-8"))
        payload = base64.b64decode(values["payload"], validate=True)
        signature = base64.b64decode(values["signatures"][0]["sig"], validate=True)
        statement = strict_json.loads(payload)
        if values["payloadType"] != PAYLOAD or not isinstance(statement, dict):
            raise ValueError("it is no in-toto statement")
    except (OSError, ValueError, LookupError, TypeError, binascii.Error) as error:
        raise VerificationError(
            f"not a signed statement: {error}",
            where=str(envelope),
            hint="./inv verify --sign KEY writes one",
        ) from None
    with files.temporary("statement.sig", signature, error=VerificationError) as file:
        words = ["-n", _NAMESPACE, "-s", str(file)]
        if signers is None:
            done = _ssh_keygen(["check-novalidate", *words], _encoded(payload))
        else:
            allowed = ["-f", str(signers)]
            principals = _ssh_keygen(["find-principals", "-s", str(file), *allowed], b"")
            name = principals.stdout.decode(errors="replace").strip().partition("\n")[0]
            if principals.returncode or not name:
                raise VerificationError(
                    f"{signers} does not list the key that signed this",
                    where=str(envelope),
                    hint="add its public key as `NAME ssh-ed25519 AAAA...`, if you trust it",
                )
            done = _ssh_keygen(["verify", "-I", name, *allowed, *words], _encoded(payload))
    if done.returncode:
        raise VerificationError(
            "the signature does not fit the statement: one of them was changed",
            where=str(envelope),
            hint="ask its author for the original",
        )
    key = re.search(r"with (.*)", done.stdout.decode(errors="replace"))
    who = f" of {name}" if signers else ""
    return statement, f"{key[1] if key else 'a key'}{who}"


def _encoded(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def _ssh_keygen(arguments: list[str], text: bytes) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if not program:
        raise MissingRequirementError(
            "ssh-keygen is not installed", hint="sudo apt-get install openssh-client"
        )
    argv = [program, "-Y", *arguments]
    return subprocess.run(argv, input=text, capture_output=True, check=False)
