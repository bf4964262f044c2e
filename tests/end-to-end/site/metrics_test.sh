#!/usr/bin/env bash
# The metrics of a site's aggregator and of an agent: what they say is what the stores have, to the nanosecond, also of jobs that are complete; and a real Prometheus
# reads them, and joins them with those of a DCGM exporter. Arguments: prometheus, promtool.
reader=$(realpath "$(dirname "$0")/metrics_reader.py")
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/site_harness.sh"
prometheus=$1 promtool=$2
agent='' second=''
at_end() { kill -9 $service $agent $second $silent ${rank_pid[*]} 2>/dev/null; }
at_aggregator=127.0.0.1:$((port + 1)) at_agent=127.0.0.1:$((port + 2))

start_service --metrics $((port + 1))
mkfifo "$scratch/ready"
"$flamegrid" agent --connect "$at" --keys "$scratch/keys/agent.keys" --socket "$scratch/agent" --devices "$scratch/devices.0" --node-name node0 --metrics "$at_agent" \
	2> >(tee -p "$scratch/ready" >"$scratch/agent.log") 7<&- &
agent=$!
grep -m1 -q 'listening on' "$scratch/ready"

# A job whose ranks wait for one another, with enough calls that most of them are folded, and with samples of host threads.
FAKE_CUDA_HOST_SEED=1 "$flamegrid" run -q --cpu-hz 999 --off-cpu 100us --node-name node0 --devices "$scratch/devices.0" "${site[@]}" -- "$BUILD/tests/fake_ranks" --ranks 2 --steps 4500 --late-host 1:100 \
	>"$scratch/nccl.out" 2>"$scratch/nccl.err" 7<&-
same "the status of the job with NCCL" $? 0
nccl=$(last_alone)
check "it is complete" says "$nccl is complete"

# Two jobs on the same two nodes, one after the other complete, and a process of the node's own agent.
for r in 0 1; do
	rank red $r 2 $r "${site[@]}" -- $work --launches 1000
	rank blue $r 2 $r "${site[@]}" -- $work --launches 700
done
FAKE_CUDA_HOST_SEED=1 FAKE_CUDA_TRUTH=$scratch/own.truth "$flamegrid" run -q --agent "$scratch/agent" -- $work --launches 500 >"$scratch/own.out" 2>"$scratch/own.err" 7<&-
same "the status of the agent's job" $? 0
# A job whose nodes fold their own events.
for r in 0 1; do rank green $r 2 $r "${site[@]}" --aggregate node -- $work --launches 600; done
for job in red blue green; do
	for r in 0 1; do await $job $r 0; done
	check "$job is complete" says "$scratch/jobs/$user-$job is complete"
done
check "green's profile as one store" "$flamegrid" merge -o "$scratch/green" "$scratch/jobs/$user-green"
truth_ns=$(truth_sum valid_ns "$scratch"/{red,blue,green}.truth.[01] "$scratch/own.truth")
truth_ns=$((truth_ns + $(total_ns "$nccl")))

# WHAT, what the metrics say, and what is expected, on lines.
compared() {
	"$@" >"$scratch/compared" 2>"$scratch/compared.err"
	same "${2##*/} $3 ended" "$? $(cat "$scratch/compared.err")" "0 "
	while IFS=$'\t' read -r what is expected; do same "$what" "$is" "$expected"; done <"$scratch/compared"
}
compared python3 "$reader" exact "http://$at_aggregator/metrics" "http://$at_agent/metrics" "$truth_ns" "$scratch/own.db" "$scratch/jobs/$user"-{red,blue}/profile.db "$nccl/profile.db" "$scratch/green/profile.db"

for from in "$at_aggregator" "$at_agent"; do
	python3 "$reader" get "http://$from/metrics" >"$scratch/metrics.txt"
	same "promtool takes those of $from" "$("$promtool" check metrics <"$scratch/metrics.txt" 2>&1) $?" " 0"
	same "nothing in them names a user, a job or a program" "$(grep -cE "$user|red|blue|green|fake_launches|$scratch" <(grep -vE '^#|reason=' "$scratch/metrics.txt"))" 0
done
compared python3 "$reader" prometheus "$prometheus" "$scratch" $((port + 3)) "$at_aggregator" "$at_agent"

# Somebody else has the port: that costs the metrics alone.
mkfifo "$scratch/second.ready"
"$flamegrid" aggregate --listen "ipc://$scratch/second" --store "$scratch/second.db" --metrics $((port + 1)) 2> >(tee -p "$scratch/second.ready" >"$scratch/second.log") 7<&- &
second=$!
grep -m1 -q 'listening on' "$scratch/second.ready"
kill -TERM $second
wait $second
same "the status of an aggregator without its metrics' port" $? 0
contains "it says what it lacks, and where" "$scratch/second.log" "--metrics: cannot listen on 127.0.0.1:$((port + 1)): Address already in use; there are no metrics"

kill -TERM $agent
wait $agent
same "the agent's status" $? 0
end_service
