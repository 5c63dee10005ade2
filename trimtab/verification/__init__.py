"""Verification: builds that anybody can repeat to the byte, and signed statements about them.

`rebuild` builds once more from the recipe of a record, without objects of earlier builds; `compare`
names the first byte that differs; `statement` links the files of a build or a run by digest, and
`signature` signs that with a key of OpenSSH.
"""
