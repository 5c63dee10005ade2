#!/bin/sh
# Functions for the folder of a lease, which lies in a folder that others may own.

# enter FOLDER: goes into a folder of this user's own. Its files are then named without a path, so
# that nobody can put another file in their place: FOLDER, a real path, is not reached by a symbolic
# link, and only this user writes into it.
enter() {
  cd "$1" 2>/dev/null || return 1
  # shellcheck disable=SC3067  # test -O: dash, bash, busybox and mksh have it
  [ "$(pwd -P)" = "$1" ] && [ -O . ]
}
