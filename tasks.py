"""The project's tasks for plain `invoke`: users' from `trimtab/cli/`, developers' from `lab/`."""

import lab
from lab.dev import packages
from trimtab import cli

namespace = cli.collect(lab.modules("tasks"), packages.ensure).namespace
