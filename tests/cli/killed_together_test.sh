#!/usr/bin/env bash
# The agent and a job are killed before anything of the job was stored. The next agent tells of the job: the report does not say
# "nothing lost".
. "$(dirname "$0")/harness.sh"
list=$(devices 1)
. "$(dirname "$0")/daemon_harness.sh"

start_agent # there is no aggregator yet, so nothing can be stored
mkfifo "$scratch/progress"
"$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --forever --progress "$scratch/progress" \
	>"$scratch/out" 2>"$scratch/err" &
job=$!
read -r pid launched <"$scratch/progress"
check "it launched ($launched)" [ "$launched" -gt 0 ]
kill -9 $agent
wait $agent 2>/dev/null
kill -9 "$pid"
wait $job
same "the job's status" $? 137

start_aggregator
start_agent
"$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --launches 1000 >"$scratch/out" 2>"$scratch/err" &
end_all $!
"$flamegrid" report "$scratch/profile.db" --strict >"$scratch/folded" 2>"$scratch/strict.err"
same "report --strict" $? 3
contains "the report says so" "$scratch/strict.err" "INCOMPLETE: 1 of 2 processes"
"$flamegrid" report "$scratch/profile.db" --format json >"$scratch/json" 2>/dev/null
contains "it has the reason" "$scratch/json" "the agent was killed before anything of it was stored"
contains "it has the command" "$scratch/json" "--forever"
same "kernels of the other job" "$(grep -o '"kernels":[0-9]*' "$scratch/json" | head -n 1)" '"kernels":1000'
check "nobody is in the register" [ ! -e "$scratch/agent.guests" ]
