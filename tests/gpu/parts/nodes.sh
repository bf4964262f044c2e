# A step of two made-up nodes on one machine, each of which keeps a profile of its own.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# node_rank STEP RANK OPTION...: rank RANK of four, in the background; two ranks a node, each on the next GPU. Its launches are in
# STEP.RANK.out.
node_rank() {
	local step=$1 rank=$2
	shift 2
	CUDA_VISIBLE_DEVICES=$((rank % (gpus > 0 ? gpus : 1))) PMIX_NAMESPACE=$step OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=$((rank % 2)) \
		"$flamegrid" run --node-name "made-up$((rank / 2))" --spool "$scratch/spool" -o "$scratch/$step" "$@" -- \
		"$scratch/programs/launch_bound" 400000 >"$out/$step.$rank.out" 2>"$out/$step.$rank.err" &
}

# kernels_of PROFILE: of each rank.
kernels_of() { "$flamegrid" report "$1" --ranks -f json | python3 -c 'import json, sys; print([r["kernels"] for r in json.load(sys.stdin)["ranks"]])'; }

# delivered_ns PROFILE: what CUPTI delivered, by the profile's ledger.
delivered_ns() {
	python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("select sum(ns) from ledger where reason = 5").fetchone()[0])' "$1/profile.db"
}

nodes() {
	local way r name pid

	mkdir -p "$scratch/spool"
	for way in central node; do
		for r in 0 1 2 3; do node_rank "nodes_$way" $r --aggregate $way; done
		wait
		grep -h '^flamegrid' "$out/nodes_$way".?.err
		"$flamegrid" report "$scratch/nodes_$way" --strict -o /dev/null
		same "$way: nothing lost (report --strict)" $? 0
		"$flamegrid" report "$scratch/nodes_$way" -u ns -o "$out/nodes_$way.ns.folded" 2>/dev/null
		same "$way: ns in folded lines, and what CUPTI delivered" "$(leaf_sum "$out/nodes_$way.ns.folded" '\\[GPU')" \
			"$(delivered_ns "$scratch/nodes_$way")"
	done
	same "kernels of the ranks, both ways" "$(kernels_of "$scratch/nodes_node")" "$(kernels_of "$scratch/nodes_central")"
	"$flamegrid" report "$scratch/nodes_central" -w count -o "$out/nodes_central.folded" 2>/dev/null
	"$flamegrid" report "$scratch/nodes_node" -w count -o "$out/nodes_node.folded" 2>/dev/null
	same "lines that differ" "$(diff "$out/nodes_central.folded" "$out/nodes_node.folded" | grep -c '^[<>]')" 0
	same "what is left in the spool" "$(ls "$scratch/spool")" ""
	# The aggregator is lost with all that would start it again: another node starts one, or each leaves its profile.
	for r in 0 1 2 3; do node_rank nodes_lost $r --aggregate node; done
	until [ "$(kernels_of "$scratch/nodes_lost" 2>/dev/null | tr -cd , | wc -c)" = 3 ]; do :; done
	for name in flamegrid-keep flamegrid-job; do
		for pid in $(pgrep -x $name); do grep -qzF "$scratch" "/proc/$pid/cmdline" && kill -KILL "$pid"; done
	done
	wait
	grep -h '^flamegrid' "$out/nodes_lost".?.err
	ls "$scratch/nodes_lost"
	same "aggregator lost: kernels of the ranks" "$(kernels_of "$scratch/nodes_lost")" "$(kernels_of "$scratch/nodes_central")"
	"$flamegrid" report "$scratch/nodes_lost" --strict -o /dev/null
	same "aggregator lost: nothing lost (report --strict)" $? 0
	same "what is left in the spool" "$(ls "$scratch/spool")" ""
}
