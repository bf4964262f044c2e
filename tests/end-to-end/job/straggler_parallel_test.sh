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
job stage --steps 40 --pipeline 4 --gpu 3000-3060 --late-gpu 2:3900
same "stage: who is late" "$(field stage '[k["rank"] for k in r["ranks"] if k["late"]]')" "[2]"
same "stage: stages" "$(field stage '[(s["stage"], s["ranks"], s["late"]) for s in r["pipeline"]["stages"]]')" \
	"[(0, [0], False), (1, [1], False), (2, [2], True), (3, [3], False)]"
same "stage: pipelines, steps" "$(field stage '[r["pipeline"][k] for k in ("pipelines", "compared", "steps")]')" "[1, True, 40]"
same "stage: the late one computes for 8 passes a step" \
	"$(field stage '40 * 8 * 3900000 * 0.99 < r["pipeline"]["stages"][2]["compute_ns"] <= 40 * 8 * 3960000')" True
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
job alike --steps 40 --pipeline 4 --gpu 3000-3060
same "alike: who is late" "$(field alike '[k["rank"] for k in r["ranks"] if k["late"] or k["kept_waiting_by"] is not None]')" "[]"
same "alike: the first stage is the last in all_reduces" "$(field alike '[k["last"] for k in r["ranks"] if k["rank"] == 0][0] > 30')" True

# ---- experts: an all_to_all before and behind the computing kernel, as sends and receives
job experts --steps 120 --experts --gpu 10000-10200 --late-gpu 1:14000
same "experts: who is late" "$(field experts '[k["rank"] for k in r["ranks"] if k["late"]]')" "[1]"
same "experts: no pipeline" "$(field experts 'r["pipeline"]')" None
same "experts: compared: but the first, two exchanges and an all_reduce a step" "$(field experts '[c["compared"] for c in r["communicators"]]')" "[359]"
same "experts: of that rank, in so many steps" "$(field experts '[(e["rank"], e["imbalance"], e["steps"]) for e in r["experts"]]')" "[(1, False, 120)]"
same "experts: its GPU takes 1.4 times as long" "$(field experts '1.36 < r["experts"][0]["gpu_times"] < 1.42')" True
valid_report "$scratch/experts" --straggler

# ---- each time the experts of another rank
job moving --steps 120 --experts --gpu 10000-30000
same "moving: who is late" "$(field moving '[k["rank"] for k in r["ranks"] if k["late"]]')" "[]"
same "moving: an imbalance" "$(field moving '[(e["rank"], e["imbalance"]) for e in r["experts"]]')" "[(None, True)]"
contains "moving: said" "$scratch/moving.json" "; imbalance: of all ranks each time another one holds up the others, "
valid_report "$scratch/moving" --straggler

# ---- a late switch: four nodes of two ranks; the second and the third are at switch s1, as Slurm tells. Kernels last a little longer on each
# further node: otherwise those of equal devices would last equally long, and two ranks would always be last.
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node() { # NODE
	FAKE_CUDA_HOST_SEED=$(($1 + 1)) FAKE_CUDA_DEVICES=2 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.node$1"
	env PMIX_NAMESPACE=switches OMPI_COMM_WORLD_RANK="$1" OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$(($1 + 1)) \
		SLURM_TOPOLOGY_ADDR="top.s$((($1 + 1) / 2 % 2)).node$1" SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node \
		"$flamegrid" run --node-name "node$1" --devices "$scratch/devices.node$1" -o "$scratch/switches" -- \
		env -u PMIX_NAMESPACE -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE "$ranks" --ranks 8 --here $(($1 * 2)):2 \
		--job "$scratch/switches" --ahead --steps 240 --gpu 50-$((50 + 7 * $1)) --late-gpu 2-5:2000 >"$scratch/switches.out.$1" 2>&1
}
nodes=()
for i in 0 1 2 3; do
	node $i &
	nodes+=($!)
done
for i in 0 1 2 3; do
	wait "${nodes[$i]}"
	same "switches: status of node $i" $? 0
done
groups() { python3 -c 'import json, sys; print([(g["kind"], g["name"], g["ranks"]) for g in json.load(sys.stdin)["groups"]])'; }
same "switches: who is late" "$("$flamegrid" report "$scratch/switches" --straggler -f json | groups)" "[('switch', 'switch s1, 2 hosts', [2, 3, 4, 5])]"
contains "switches: said" <("$flamegrid" report "$scratch/switches" --straggler) "late: switch s1, 2 hosts (4 ranks: 2-5; without it up to "
same "switches: no line of the topology among notices" "$("$flamegrid" report "$scratch/switches" --straggler | grep -c 'network topology')" 0
valid_report "$scratch/switches" --straggler
printf 'SwitchName=leaf1 Nodes=node[1-2]\nSwitchName=leaf0 Nodes=node0,node3\n' >"$scratch/topology.conf"
same "switches: by a file" "$("$flamegrid" report "$scratch/switches" --straggler -f json --topology "$scratch/topology.conf" | groups)" \
	"[('switch', 'switch leaf1, 2 hosts', [2, 3, 4, 5])]"
printf 'SwitchName=leaf1 Nodes=node[1-2]\nSwitchName=leaf0 Nodes=node0\n' >"$scratch/topology.conf"
"$flamegrid" report "$scratch/switches" --straggler --topology "$scratch/topology.conf" >/dev/null 2>"$scratch/err"
contains "switches: a file without a host" "$scratch/err" "$scratch/topology.conf: has no switch of 1 host of the profile, such as node3: "
printf 'SwitchName=leaf1 Nodes=node[1-2\n' >"$scratch/topology.conf"
"$flamegrid" report "$scratch/switches" --straggler --topology "$scratch/topology.conf" >/dev/null 2>"$scratch/err"
same "switches: a wrong file: status" $? 1
contains "switches: a wrong file: said" "$scratch/err" "$scratch/topology.conf: line 1: Nodes=node[1-2: is no list of names"
"$flamegrid" report "$scratch/switches" --topology "$scratch/topology.conf" >/dev/null 2>"$scratch/err"
same "--topology without --straggler: status" $? 2
