"""Transport `ssh`: a board with an SSH server, through paramiko or through OpenSSH's client."""

from trimtab.devices.ssh.address import Address, config_of_home
from trimtab.devices.ssh.choice import PROGRAMS
from trimtab.devices.ssh.transport import OPTIONS, SshDevice, create

__all__ = ["OPTIONS", "PROGRAMS", "Address", "SshDevice", "config_of_home", "create"]
