#!/bin/sh
# Slurm's TaskProlog for sites without the plugin (docs/cluster.md): profiles the tasks of steps whose environment has FLAMEGRID_STEP, the options.
# Slurm starts it without standard streams but for its output, whose "export NAME=VALUE" lines it gives to the task.
: "${FLAMEGRID_LOG:=/dev/null}"
(: >>"$FLAMEGRID_LOG") 2>/dev/null || FLAMEGRID_LOG=/dev/null
exec </dev/null 2>>"$FLAMEGRID_LOG"
[ -n "${FLAMEGRID_STEP+set}" ] && [ -n "${SLURM_STEP_ID:-}" ] || exit 0
flamegrid=${FLAMEGRID_PREFIX:-$(dirname "$0")/../../..}/bin/flamegrid
"$flamegrid" step begin --pid "$SLURM_TASK_PID" --title "${SLURM_JOB_NAME:-a step of Slurm}" -- "$FLAMEGRID_STEP" |
	while IFS= read -r variable; do printf 'export %s\n' "$variable"; done
exit 0
