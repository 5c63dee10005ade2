#!/bin/bash
# The measuring step of action.yml, whose inputs are variables: prints the table, and appends it to the summary of the job
# whatever the exit code is.
set -euo pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
table=$RUNNER_TEMP/trimtab.md
options=(--models "$MODELS" --precisions "$PRECISIONS" --threads "$THREADS" --minutes "$MINUTES")
options+=(--tolerance "$TOLERANCE" --wait --output "$table")
[ -x "$RUNNER_TEMP/peers/bin/python" ] && options+=(--python "$RUNNER_TEMP/peers/bin/python")
[ -n "$HISTORY" ] && options+=(--history "$HISTORY")
[ "$APPEND" = true ] && options+=(--append)

code=0
"${TRIMTAB_INV:-$here/inv}" bench.silicon "${options[@]}" || code=$?
if [ -f "$table" ]; then
    cat "$table" >>"$GITHUB_STEP_SUMMARY"
    echo "table=$table" >>"$GITHUB_OUTPUT"
fi
exit "$code"
