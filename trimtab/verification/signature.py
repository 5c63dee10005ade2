"""Signatures of OpenSSH (`ssh-keygen -Y`) or of minisign in envelopes of DSSE.

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
from trimtab.paths import PROGRAM

PAYLOAD = "application/vnd.in-toto+json"
_NAMESPACE = "trimtab"
_MINISIGN = b"untrusted comment: "  # how its keys and signatures begin
_Done = subprocess.CompletedProcess[bytes]
_Checked = tuple[_Done, str]  # the end of the program, and who signed, in words


def sign(statement: dict[str, Any], key: Path) -> str:
    """The envelope of a statement, signed with a key of OpenSSH (a private one, or the public half
    of one that the agent has) or with a secret key of minisign. VerificationError if the program
    refuses.
    """
    payload = strict_json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    if key.is_file() and key.read_bytes().startswith(_MINISIGN):
        program, (done, signed) = "minisign", _signed_by_minisign(_encoded(payload), key)
    else:
        program = "ssh-keygen"
        done = _ssh_keygen(["sign", "-f", str(key), "-n", _NAMESPACE], _encoded(payload))
        signed = done.stdout
    if done.returncode:
        raise VerificationError(
            f"{program} cannot sign: {done.stderr.decode(errors='replace').strip()}",
            where=str(key),
            hint="name a private key of OpenSSH with --sign, such as ~/.ssh/id_ed25519, or a "
            "secret key of minisign",
        )
    signature = {"sig": base64.b64encode(signed).decode()}
    envelope = {"payloadType": PAYLOAD, "payload": base64.b64encode(payload).decode()}
    return strict_json.dumps({**envelope, "signatures": [signature]}, indent=1) + "\n"


def verified(envelope: Path, signers: Path | None = None) -> tuple[dict[str, Any], str]:
    """The statement of an envelope, and who signed it, in words.

    `signers`: a file of allowed signers (ssh-keygen(1)), or a public key of minisign; without it, a
    good signature of any key of OpenSSH is accepted, and the key is told. VerificationError for
    anything else.
    """
    try:
        values = strict_json.loads(envelope.read_text(encoding="utf-8"))
        payload = base64.b64decode(values["payload"], validate=True)
        signature = base64.b64decode(values["signatures"][0]["sig"], validate=True)
        statement = strict_json.loads(payload)
        if values["payloadType"] != PAYLOAD or not isinstance(statement, dict):
            raise ValueError("it is not an in-toto statement")
    except (OSError, ValueError, LookupError, TypeError, binascii.Error) as error:
        raise VerificationError(
            f"not a signed statement: {error}",
            where=str(envelope),
            hint=f"{PROGRAM} verify --sign KEY writes one",
        ) from None
    if signature.startswith(_MINISIGN):
        done, who = _checked_by_minisign(_encoded(payload), signature, signers, envelope)
    else:
        done, who = _checked_by_openssh(_encoded(payload), signature, signers, envelope)
    if done.returncode:
        raise VerificationError(
            "the signature does not fit the statement: one of them was changed",
            where=str(envelope),
            hint="ask its author for the original",
        )
    return statement, who


def _checked_by_openssh(
    text: bytes, signature: bytes, signers: Path | None, envelope: Path
) -> _Checked:
    with files.temporary("statement.sig", signature, error=VerificationError) as file:
        words = ["-n", _NAMESPACE, "-s", str(file)]
        if signers is None:
            done = _ssh_keygen(["check-novalidate", *words], text)
        else:
            allowed = ["-f", str(signers)]
            principals = _ssh_keygen(["find-principals", "-s", str(file), *allowed], b"")
            name = principals.stdout.decode(errors="replace").strip().partition("\n")[0]
            if principals.returncode or not name:
                hint = "add its public key as `NAME ssh-ed25519 AAAA...`, if you trust it"
                raise _not_listed(signers, envelope, hint)
            done = _ssh_keygen(["verify", "-I", name, *allowed, *words], text)
    key = re.search(r"with (.*)", done.stdout.decode(errors="replace"))
    return done, f"{key[1] if key else 'a key'}{f' of {name}' if signers else ''}"


def _checked_by_minisign(
    text: bytes, signature: bytes, signers: Path | None, envelope: Path
) -> _Checked:
    if signers is None:
        raise VerificationError(
            "a signature of minisign says nothing without the public key",
            where=str(envelope),
            hint="--signers minisign.pub",
        )
    with files.temporary("statement", text, error=VerificationError) as file:
        place = file.with_suffix(".minisig")
        files.write_bytes(place, signature, error=VerificationError)
        done = _minisign(["-V", "-q", "-p", str(signers), "-m", str(file), "-x", str(place)])
    if b"key id" in done.stderr:
        raise _not_listed(signers, envelope, "name the public key of the signer, if you trust it")
    return done, f"the minisign key of {signers}"


def _signed_by_minisign(text: bytes, key: Path) -> tuple[_Done, bytes]:
    """The end of the program, which may ask for a password, and the signature."""
    with files.temporary("statement", text, error=VerificationError) as file:
        place = file.with_suffix(".minisig")
        done = _minisign(["-S", "-s", str(key), "-m", str(file), "-x", str(place)])
        return done, place.read_bytes() if place.is_file() else b""


def _not_listed(signers: Path, envelope: Path, hint: str) -> VerificationError:
    what = f"{signers} does not list the key that signed this"
    return VerificationError(what, where=str(envelope), hint=hint)


def _encoded(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def _ssh_keygen(arguments: list[str], text: bytes) -> _Done:
    argv = [_program("ssh-keygen", "openssh-client"), "-Y", *arguments]
    return subprocess.run(argv, input=text, capture_output=True, check=False)


def _minisign(arguments: list[str]) -> _Done:
    argv = [_program("minisign", "minisign"), *arguments]
    return subprocess.run(argv, stdout=2, stderr=subprocess.PIPE, check=False)


def _program(name: str, package: str) -> str:
    program = shutil.which(name)
    if not program:
        raise MissingRequirementError(
            f"{name} is not installed", hint=f"sudo apt-get install {package}"
        )
    return program
