#!/bin/sh
# Slurm's TaskEpilog, beside task_prolog.sh: the step does not end before what this task recorded is written.
: "${FLAMEGRID_LOG:=/dev/null}"
(: >>"$FLAMEGRID_LOG") 2>/dev/null || FLAMEGRID_LOG=/dev/null
exec </dev/null 2>>"$FLAMEGRID_LOG"
[ -n "${FLAMEGRID_STEP+set}" ] && [ -n "${SLURM_STEP_ID:-}" ] || exit 0
"${FLAMEGRID_PREFIX:-$(dirname "$0")/../../..}/bin/flamegrid" step end
exit 0
