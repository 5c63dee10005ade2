"""Transport `ssh`: a board with an SSH server."""

from trimtab.devices.ssh.openssh import PROGRAMS, Address, SshDevice, create, own_config

__all__ = ["PROGRAMS", "Address", "SshDevice", "create", "own_config"]
