"""The entry point of `./inv`: the users' tasks and the developers'."""

import lab
from lab.dev import packages
from trimtab import cli

cli.main(lab.modules("tasks"), packages.ensure)
