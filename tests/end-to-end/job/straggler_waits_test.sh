#!/usr/bin/env bash
# Why a rank is late whose host waits: by samples of host threads in the moments before collectives. Needs root.
. "$(dirname "$0")/../support/harness.sh"
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
list=$(devices 8)

# Of waits of a millisecond and more. Shorter ones, of ranks that look for the late one all the time, are 60,000 in 3 s:
# the agent has no time for their stacks where others want the processors.
"$flamegrid" run --devices "$list" --cpu-hz 199 --off-cpu 1ms -o "$scratch/profile" -- \
	"$BUILD/tests/fake_ranks" --ranks 8 --steps 150 --late-host 3:5000 >"$scratch/out" 2>"$scratch/err"
same "status" $? 0
"$flamegrid" report "$scratch/profile" --straggler -f json >"$scratch/json"
field() { python3 -c 'import json, sys; f = json.load(open(sys.argv[1]))["ranks"][0]; print(eval(sys.argv[2]))' "$scratch/json" "$1"; }
same "who is late" "$(field '(f["rank"], f["late"])')" "(3, True)"
same "why" "$(field 'f["causes"][0]["cause"]')" "waits (sleep, rank_step)"
same "in the moments before collectives alone" "$(field 'f["causes"][0]["interval"]')" late
same "explained, about" "$(field '0.25 < f["causes"][0]["share"] < 1.6')" True
"$flamegrid" diff "$scratch/profile" --rank 3 --planes offcpu -u ns >"$scratch/diff"
same "diff: rank 3 slept, others did not" "$(awk '/;rank_step;usleep;.*\[Off-CPU\]sleep / { b += $(NF - 1); a += $NF } END { print (a > 60000000 && b == 0) }' "$scratch/diff")" 1
