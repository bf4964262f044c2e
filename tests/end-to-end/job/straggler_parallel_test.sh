#!/usr/bin/env bash
# Which stage of a pipeline is late, what the bubbles of its stages are, and whose experts hold up the others: ranks on fake NCCL, whose kernels wait for one another as NCCL's do.
. "$(dirname "$0")/../support/harness.sh"
ranks=$BUILD/tests/fake_ranks
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
list=$(devices 4)

# job NAME RANKS-OPTION...: and its report in NAME.json. The hosts run ahead, so that a busy machine makes nobody late.
job() {
	local name=$1
	shift
	"$flamegrid" run --devices "$list" -o "$scratch/$name" -- "$ranks" --ranks 4 --ahead "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --straggler -f json >"$scratch/$name.json"
}
# field NAME PYTHON-EXPRESSION: of the report r.
field() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$scratch/$1.json" "$2"; }

# ---- a slow stage: each step of 4 micro-batches ends with an all_reduce
job stage --steps 60 --pipeline 4 --gpu 1000-1020 --late-gpu 2:1300
same "stage: who is late" "$(field stage '[k["rank"] for k in r["ranks"] if k["late"]]')" "[2]"
same "stage: stages" "$(field stage '[(s["stage"], s["ranks"], s["late"]) for s in r["pipeline"]["stages"]]')" \
	"[(0, [0], False), (1, [1], False), (2, [2], True), (3, [3], False)]"
same "stage: pipelines, steps" "$(field stage '[r["pipeline"][k] for k in ("pipelines", "compared", "steps")]')" "[1, True, 60]"
same "stage: the late one computes for 8 passes a step" \
	"$(field stage '60 * 8 * 1300000 * 0.99 < r["pipeline"]["stages"][2]["compute_ns"] <= 60 * 8 * 1320000')" True
same "stage: times are the run's" \
	"$(field stage '[abs(sum(s[k + "_ns"] for k in ("compute", "wait", "move", "idle")) / r["pipeline"]["span_ns"] - 1) < 0.02 for s in r["pipeline"]["stages"]]')" \
	"[True, True, True, True]"
same "stage: why" "$(field stage 'r["ranks"][0]["causes"][0]["cause"]')" "slower GPU kernels (fake_compute, rank_compute)"
valid_report "$scratch/stage" --straggler
"$flamegrid" report "$scratch/stage" --straggler >"$scratch/table"
contains "stage: the table's line" "$scratch/table" "late: stage 2, rank 2 on "
same "stage: the table of stages" "$(grep -cE '^ +[0-3][* ] .*%  [0-3]$' "$scratch/table")" 4
same "stage: the late one is marked" "$(grep -E '^ +[0-3]\* .*%  [0-3]$' "$scratch/table" | sed 's/.* //')" 2

# ---- stages alike: the first one ends each step, and is not late
job alike --steps 60 --pipeline 4 --gpu 1000-1020
same "alike: who is late" "$(field alike '[k["rank"] for k in r["ranks"] if k["late"] or k["kept_waiting_by"] is not None]')" "[]"
same "alike: the first stage is the last in all_reduces" "$(field alike '[k["last"] for k in r["ranks"] if k["rank"] == 0][0] > 50')" True

# ---- experts: an all_to_all before and behind the computing kernel, as sends and receives
job experts --steps 120 --experts --gpu 1000-1020 --late-gpu 1:1400
same "experts: who is late" "$(field experts '[k["rank"] for k in r["ranks"] if k["late"]]')" "[1]"
same "experts: no pipeline" "$(field experts 'r["pipeline"]')" None
same "experts: compared: two exchanges and an all_reduce a step" "$(field experts '[c["compared"] for c in r["communicators"]]')" "[360]"
same "experts: of that rank, in so many steps" "$(field experts '[(e["rank"], e["imbalance"], e["steps"]) for e in r["experts"]]')" "[(1, False, 120)]"
same "experts: its GPU takes 1.4 times as long" "$(field experts '1.36 < r["experts"][0]["gpu_times"] < 1.42')" True
same "experts: the others wait 0.4 ms a step, about" "$(field experts '0.3e6 < r["experts"][0]["wait_ns"] / 120 < 0.5e6')" True
valid_report "$scratch/experts" --straggler

# ---- each time the experts of another rank
job moving --steps 120 --experts --gpu 1000-3000
same "moving: who is late" "$(field moving '[k["rank"] for k in r["ranks"] if k["late"]]')" "[]"
same "moving: an imbalance" "$(field moving '[(e["rank"], e["imbalance"]) for e in r["experts"]]')" "[(None, True)]"
contains "moving: said" "$scratch/moving.json" "; imbalance: of all ranks each time another one holds up the others, "
valid_report "$scratch/moving" --straggler
