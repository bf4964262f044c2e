#!/usr/bin/env bash
# A stage of a pipeline becomes late while the job runs, and recovers: four ranks on fake NCCL, whose kernels wait for one another as NCCL's do.
. "$(dirname "$0")/../support/harness.sh"
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
cd "$scratch" || exit 1

# The command that runs for each event makes the next one, so that no time is measured here.
cat >hook.sh <<'END'
printf '%s|%s\n' "$FLAMEGRID_WATCH_EVENT" "$FLAMEGRID_WATCH_NAME" >>events
case $FLAMEGRID_WATCH_EVENT in
late) cat >>late.json; rm -f late ;;
recovered) : >until ;;
esac
END
: >late
timeout 100 "$flamegrid" run --watch "sh hook.sh" --devices "$(devices 4)" -o job -- "$BUILD/tests/fake_ranks" --ranks 4 --pipeline 4 \
	--steps 100000000 --gpu 3000-3060 --late-gpu 2:4200 --late-while late --until until >out 2>err
same "status" $? 0
same "events" "$(sed 's/ on .*//' events | paste -sd,)" "late|rank 2,recovered|rank 2"
same "the stage" "$(python3 -c 'import json; e = json.load(open("late.json")); print(e["stage"], e["ranks"], e["communicator"])')" "2 [2] the pipeline"
contains "the run's message" err ": stage 2, waited least in "
contains "the run's message of its end" err "no longer late: rank 2 on "
same "the newest work goes with its process" "$(sql job 'select count(*) from sample_blocks where sort = 3')" 0
