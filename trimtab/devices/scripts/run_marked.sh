#!/bin/sh
# run_marked.sh TOKEN1 TOKEN2 STDIN SCRIPT: runs a script in a process group of its own. Both of its
# outputs stand between marker lines that begin with the two halves of a token.
#
# The first marker on stderr carries the number of the group, the last one the exit code. The inner
# shell leads the group. Descriptor 3 carries the script's stderr past this shell, which comments on
# children that die by a signal. `setsid` runs in a subshell: as the leader of a group it would fork
# and not wait. Without it only the process itself is killed. STDIN: `open`, or `empty`.
exec 3>&2 2>/dev/null
s=; command -v setsid >/dev/null && s=setsid
(
  exec 2>&3 3>&-
  [ "$3" = open ] || exec </dev/null
  # shellcheck disable=SC2016  # the inner shell expands its arguments
  exec $s sh -c 'echo "$1"; echo "$1 $$" >&2; eval "$2"' sh "$1$2" "$4"
)
r=$?
echo "$1$2"; echo "$1$2 $r" >&3
exit $r
