#!/usr/bin/env bash
# An expert becomes late while the job runs, and recovers: eight ranks on fake NCCL, whose exchanges are sends and receives
# of all with all. They make so many calls that the profile keeps few steps of them.
. "$(dirname "$0")/../support/harness.sh"
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
cd "$scratch" || exit 1

# The command that runs for each event makes the next one, so that no time is measured here. A busy machine may stall at any time.
cat >hook.sh <<'END'
[ "$FLAMEGRID_WATCH_EVENT" = stalled ] && exit
printf '%s|%s\n' "$FLAMEGRID_WATCH_EVENT" "$FLAMEGRID_WATCH_NAME" >>events
case $FLAMEGRID_WATCH_EVENT in
late) cat >>late.json; rm -f late ;;
recovered) : >until ;;
esac
END
: >late
timeout 100 "$flamegrid" run --watch "sh hook.sh" --devices "$(devices 8)" -o job -- "$BUILD/tests/fake_ranks" --ranks 8 --experts \
	--steps 100000000 --gpu 20000-20400 --late-gpu 5:40000 --late-while late --until until >out 2>err
same "status" $? 0
same "events" "$(sed 's/ on .*//' events | paste -sd,)" "late|rank 5,recovered|rank 5"
same "the expert" "$(python3 -c 'import json
e = json.load(open("late.json"))
print(e["ranks"], e["communicator"], e["expert_gpu_times"] > 1.2)')" "[5] all ranks True"
contains "the run's message" err "; between exchanges its GPU computed "
contains "the run's message of its end" err "no longer late: rank 5 on "
