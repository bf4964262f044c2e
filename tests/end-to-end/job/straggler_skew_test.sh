#!/usr/bin/env bash
# Who is late in a job whose hosts' clocks are seconds apart, and why; that nobody is, where nobody was made late, but by a lack of CPU; and that
# what is said of the clocks is what was planted. Eight ranks (once sixteen) of one communicator on four hosts. Needs root.
. "$(dirname "$0")/../support/harness.sh"
tag=fgs subnet=10.213.79
. "$(dirname "$0")/../support/skewed_hosts.sh"

# straggler NAME EXPRESSION: of the report r.
straggler() {
	[ -e "$scratch/$1.json" ] || "$flamegrid" report "$scratch/$1.db" --straggler -f json >"$scratch/$1.json"
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$scratch/$1.json" "$2"
}

# Each host's clocks are what was planted, within the bound that is told; by comparisons alone, too; and collectives have not widened it.
check_clocks() {
	"$flamegrid" report "$scratch/$1.db" --clocks --format csv >"$scratch/$1.clocks"
	awk -F, -v monotonic="${planted_monotonic_s[*]}" -v realtime="${planted_realtime_ns[*]}" '
		function off(have, planted, bound) { have -= planted; return have > bound || -have > bound }
		BEGIN { split(monotonic, seconds, " "); split(realtime, planted, " ") }
		/^#/ { next }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			host = substr($1, 2) + 1; ahead = seconds[host] * 1e9; hosts++
			wrong += off($at["offset_ns"], ahead, $at["bound_ns"]) || off($at["realtime_ns"], planted[host], $at["bound_ns"]) ||
				off($at["compared_offset_ns"], ahead, $at["compared_bound_ns"]) || $at["bound_ns"] > $at["compared_bound_ns"]
			held += $at["collectives"] > 0; narrower += $at["bound_ns"] < $at["compared_bound_ns"]
			bounds = bounds sprintf(" %.1f of %.1f us", $at["bound_ns"] / 1e3, $at["compared_bound_ns"] / 1e3)
		}
		END { printf "%d hosts, %d held against collectives, %d wrong\n", hosts, held, wrong; print "bounds:" bounds >"/dev/stderr" }' \
		"$scratch/$1.clocks" >"$scratch/clocks.said" 2>"$scratch/clocks.bounds"
	same "$1: clocks ($(cat "$scratch/clocks.bounds"))" "$(cat "$scratch/clocks.said")" "4 hosts, 4 held against collectives, 0 wrong"
}

# Each sample is, by the aggregator's clock, where it was, within the bound that stands beside it: so two that are further apart than both bounds are in
# their order. What it was is known: the host's own time, less what was planted. That is put together of readings of two clocks: 5 us.
check_samples() {
	"$flamegrid" report "$scratch/$1.db" --format samples --clocks >"$scratch/$1.samples"
	python3 - "$scratch/$1.samples" "${planted_realtime_ns[@]}" >"$scratch/samples.said" <<-'PYTHON'
		import sys
		ns = lambda text: int(text.replace(".", ""))
		planted, hosts, wrong = [int(n) for n in sys.argv[2:]], set(), 0
		for line in open(sys.argv[1]):
		    own, host, time, bound = line.split(" ", 4)[:4]
		    wrong += abs(ns(own) - planted[int(host[1:])] - ns(time)) > int(bound) + 5000
		    hosts.add(host)
		print(len(hosts), "hosts,", wrong, "wrong")
	PYTHON
	same "$1: samples on one clock ($(wc -l <"$scratch/$1.samples"))" "$(cat "$scratch/samples.said")" "4 hosts, 0 wrong"
}

# planted NAME RANK CAUSE: a pattern. Other work on this machine may make any rank late by a lack of CPU, and the planted one too.
planted() {
	local others='lambda k: [c["cause"] for c in k["causes"] if not c["cause"].startswith("no free CPU")]'
	same "$1: who is late, and not by a lack of CPU" \
		"$(straggler "$1" "[k['rank'] for k in r['ranks'] if k['late'] and (k['rank'] == $2 or not k['causes'] or ($others)(k)[:1] == [k['causes'][0]['cause']])]")" "[$2]"
	same "$1: collectives, compared by kernels" "$(straggler "$1" '[c["collectives"] - 1 == c["compared"] == c["by_gpu"] for c in r["communicators"]]')" "[True]"
	straggler "$1" "(($others)(next(k for k in r['ranks'] if k['rank'] == $2)) + ['nothing'])[0]" >"$scratch/why"
	check "$1: why: $(cat "$scratch/why")" grep -qxE "$3" "$scratch/why"
	check_clocks "$1"
}

# ---- half as slow again in a function on the CPU ----
job work 8 "--cpu-hz 4999 --stack-copy 0" "--raw-samples on" --steps 240 --work 40000 --more-work 3:50
planted work 3 'host code \(rank_work\)'
check_samples work

# ---- a slow data loader ----
# Shorter waits are so many that the agents may have no time for their stacks.
job load 8 "--off-cpu 1ms" "--raw-samples on" --steps 100 --load 8000 --more-load 6:100
planted load 6 'waits \(poll, rank_load\)'
check_samples load

# ---- a GPU with slower kernels, of sixteen ----
export FAKE_CUDA_KERNEL_NS=fake_compute=4000000
job gpu 16 "--off-cpu 1ms" "" --steps 100 --late-gpu 9:20000
planted gpu 9 'slower GPU kernels \(fake_compute, rank_compute\)'
unset FAKE_CUDA_KERNEL_NS

# ---- nobody, but those whom other work on this machine kept from a CPU ----
for round in $(seq "$(rounds 1 20)"); do
	job none$round 8 "--cpu-hz 199 --off-cpu 100us" "" --steps 100 --load 4000 --work 12000
	same "none$round: who is late, and not by a lack of CPU" \
		"$(straggler none$round '[(k["rank"], why) for k in r["ranks"] if k["late"] for why in [" ".join(c["cause"] for c in k["causes"][:1])] if not why.startswith("no free CPU")]')" "[]"
	same "none$round: collectives, compared by kernels" "$(straggler none$round '[(c["compared"], c["by_gpu"]) for c in r["communicators"]]')" "[(99, 99)]"
	check_clocks none$round
	rm "$scratch/none$round.db"
done
