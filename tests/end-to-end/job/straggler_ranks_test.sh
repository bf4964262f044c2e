#!/usr/bin/env bash
# Which rank of a job is late, and why: eight ranks on fake NCCL, whose kernels wait for one another as NCCL's do, with one that is late on the host,
# one on the GPU, and what reports and differences say of it.
. "$(dirname "$0")/../support/harness.sh"
ranks=$BUILD/tests/fake_ranks
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
list=$(devices 8)

# job NAME RUN-OPTION... -- RANKS-OPTION...
job() {
	local name=$1
	shift
	local -a options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$flamegrid" run --devices "$list" "${options[@]}" -o "$scratch/$name" -- "$ranks" --ranks 8 "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
}
# field FILE PYTHON-EXPRESSION: of the report r, and its first rank f.
field() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); f = r["ranks"][0]; print(eval(sys.argv[2]))' "$@"; }
straggler() { "$flamegrid" report "$scratch/$1" --straggler -f json >"$scratch/$1.json"; }

# The hosts run ahead. So what holds them up on a busy machine makes nobody late, once they have launched all steps.

# ---- late on the GPU ----
job gpu -- --ahead --steps 240 --late-gpu 5:2000
straggler gpu
same "gpu: calls whose kernel is not known" "$("$flamegrid" report "$scratch/gpu" -f csv --rows collectives |
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["gpu_ns"] == ""' | wc -l)" 0
same "gpu: communicators, ranks" "$(field "$scratch/gpu.json" '[(c["ranks"], c["ranks_seen"]) for c in r["communicators"]]')" "[(8, 8)]"
same "gpu: collectives, with all ranks, compared, by kernels" \
	"$(field "$scratch/gpu.json" '[r["communicators"][0][k] for k in ("collectives", "all_ranks", "compared", "by_gpu")]')" "[240, 240, 239, 239]"
same "gpu: who is late" "$(field "$scratch/gpu.json" '[k["rank"] for k in r["ranks"] if k["late"]]')" "[5]"
same "gpu: why" "$(field "$scratch/gpu.json" 'f["causes"][0]["cause"]')" "slower GPU kernels (fake_compute, rank_compute)"
same "gpu: how much longer, in each step" "$(field "$scratch/gpu.json" 'f["causes"][0]["excess_ns"]')" 1950000
valid_report "$scratch/gpu" --straggler
valid_report "$scratch/gpu"
valid_report "$scratch/gpu" --clocks
"$flamegrid" report "$scratch/gpu" --straggler >"$scratch/table"
contains "gpu: the table's line" "$scratch/table" "late: rank 5 on "
contains "gpu: the communicator's name in it" "$scratch/table" " of 239 collectives of all ranks; each other rank waited "
key=$(field "$scratch/gpu.json" 'r["communicators"][0]["communicator"]')
same "gpu: lines of the table with the key, or with chances" "$(grep -cE "$key|chance of" "$scratch/table")" 0
same "gpu: with -v" "$("$flamegrid" report "$scratch/gpu" --straggler -v | grep -oE "^all ranks +$key|chance of equal ranks" | tr -s ' ' | tr '\n' ',')" \
	"all ranks $key,chance of equal ranks,"
"$flamegrid" report "$scratch/gpu" --straggler -f csv >"$scratch/csv"
same "gpu: csv has a row a rank" "$(wc -l <"$scratch/csv")" 9
same "gpu: names in csv" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } { print $at["name"] }' "$scratch/csv" | uniq | tr '\n' ',')" "name,all ranks,"

# ---- late on the host ----
job host -- --ahead --steps 240 --late-host 3:5000
straggler host
same "host: who is late" "$(field "$scratch/host.json" '[k["rank"] for k in r["ranks"] if k["late"]]')" "[3]"
same "host: nothing that explains it was recorded" "$(field "$scratch/host.json" 'f["causes"]')" "[]"
"$flamegrid" report "$scratch/host" --straggler >"$scratch/table"
contains "host: what to record" "$scratch/table" "run with --cpu-hz 99 --off-cpu 1ms"

# ---- a late node: two nodes of four ranks, all of the second late on the GPU ----
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node() { # NODE WAY
	FAKE_CUDA_HOST_SEED=$(($1 + 1)) FAKE_CUDA_DEVICES=4 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.node$1"
	env PMIX_NAMESPACE="late$2" OMPI_COMM_WORLD_RANK="$1" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$(($1 + 1)) \
		"$flamegrid" run --node-name "node$1" --devices "$scratch/devices.node$1" -o "$scratch/$2" --aggregate "$2" -- \
		env -u PMIX_NAMESPACE -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE "$ranks" --ranks 8 --here $(($1 * 4)):4 --job "$scratch/$2" \
		--ahead --steps 240 --late-gpu 4-7:2000 >"$scratch/$2.out.$1" 2>&1
}
for way in central node; do
	node 0 $way &
	first=$!
	node 1 $way
	same "$way: status of the second" $? 0
	wait $first
	same "$way: status of the first" $? 0
	straggler $way
	same "$way: why, before the late collectives" "$(field "$scratch/$way.json" '[r["groups"][0]["causes"][0][k] for k in ("cause", "interval")]')" \
		"['slower GPU kernels (fake_compute, rank_compute)', 'late']"
done
same "node: who is late" "$(field "$scratch/node.json" '[(g["kind"], g["name"], g["ranks"]) for g in r["groups"]]')" "[('host', 'node1', [4, 5, 6, 7])]"
same "node: no rank by itself" "$(field "$scratch/node.json" '[k["rank"] for k in r["ranks"] if k["late"]]')" "[]"
same "node: its ranks are marked" "$(field "$scratch/node.json" 'sorted(k["rank"] for k in r["ranks"] if k["in_late_group"])')" "[4, 5, 6, 7]"
valid_report "$scratch/node" --straggler
"$flamegrid" report "$scratch/node" --straggler >"$scratch/table"
contains "node: the table's line" "$scratch/table" "late: node1 (4 ranks: 4-7; without it up to "

# ---- differences ----
"$flamegrid" diff "$scratch/gpu" --rank 5 -u ns >"$scratch/diff"
same "diff: the kernel: of the median 240 times 50 us, of rank 5 2 ms" \
	"$(sed -n 's/.*;\[GPU_Kernel\]fake_compute //p' "$scratch/diff")" "12000000 480000000"
"$flamegrid" diff "$scratch/gpu" --rank 2 --against 5 -w count >"$scratch/diff"
same "diff: launches of two ranks" "$(sed -n 's/.*;\[GPU_Kernel\]fake_compute //p' "$scratch/diff")" "240 240"
"$flamegrid" diff "$scratch/gpu" --rank 5 -f html -o "$scratch/diff.html"
same "diff: a page: status" $? 0
contains "diff: a page" <(page_data "$scratch/diff.html") '"diff":["median of 7 ranks","rank 5"]'
"$flamegrid" diff "$scratch/gpu" --rank 8 2>"$scratch/err"
same "diff: of a rank that there is not: status" $? 1
contains "diff: of a rank that there is not: said" "$scratch/err" \
	"has nothing of rank 8, or of the ranks to compare with; its ranks: 0-7 (flamegrid report $scratch/gpu --ranks)"
"$flamegrid" diff "$scratch/gpu" 2>"$scratch/err"
same "diff: without a rank: status" $? 2
"$flamegrid" diff "$scratch/gpu" --rank 1 --against 1 2>"$scratch/err"
same "diff: against itself: status" $? 2

# ---- all functions, groups, splits, captured calls ----
job mix -- --steps 20 --mix --late-gpu 1:1000
straggler mix
same "mix: the world's communicator and halves of it" "$(field "$scratch/mix.json" 'sorted(c["ranks"] for c in r["communicators"])')" "[2, 2, 2, 2, 8]"
same "mix: their names" "$(field "$scratch/mix.json" 'sorted(c["name"] for c in r["communicators"])')" \
	"['all ranks', 'ranks 0-1', 'ranks 2-3', 'ranks 4-5', 'ranks 6-7']"
"$flamegrid" report "$scratch/mix" --collectives --format table >"$scratch/table"
same "mix: names of those with all_reduces alone" "$(grep -oE 'all_reduce +ranks [0-9-]+' "$scratch/table" | tr -s ' ' | sort | tr '\n' ',')" \
	"all_reduce ranks 0-1,all_reduce ranks 2-3,all_reduce ranks 4-5,all_reduce ranks 6-7,"
same "mix: what waits for nobody is left out" "$(field "$scratch/mix.json" '[c["wait_for_nobody"] > 0 for c in r["communicators"] if c["ranks"] == 8]')" "[True]"
same "mix: each with all ranks" "$(field "$scratch/mix.json" 'all(c["collectives"] == c["all_ranks"] for c in r["communicators"])')" True
valid_report "$scratch/mix" --straggler
valid_report "$scratch/mix" --collectives

# ---- without ----
job off --collectives off -- --steps 5
straggler off
contains "without collectives: said" "$scratch/off.json" '"late":"late: not known: no call of NCCL is here: `flamegrid run --collectives on` records them, from NCCL 2.23 on (a job of one rank makes none)"'
"$flamegrid" report "$scratch/gpu" --straggler -f folded >/dev/null 2>"$scratch/err"
same "--straggler of folded stacks: status" $? 2
contains "--straggler of folded stacks: said" "$scratch/err" "--straggler cannot be written as folded (--format table, json, csv)"
