"""Transport `ssh`: a board with an SSH server, through paramiko or through OpenSSH's client."""

from trimtab.devices.ssh.address import Address, own_config
from trimtab.devices.ssh.choice import PROGRAMS
from trimtab.devices.ssh.transport import OPTIONS, SshDevice, create

__all__ = ["OPTIONS", "PROGRAMS", "Address", "SshDevice", "create", "own_config"]
