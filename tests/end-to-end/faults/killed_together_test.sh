#!/usr/bin/env bash
# The agent and a job are killed before anything of the job was stored. The next agent tells of the job: the report does not say
# "nothing lost". Also where the agent had not even read what the job offers, with an agent for all users, and for a job
# that starts while the agent is dead.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
. "$(dirname "$0")/../support/daemon_harness.sh"

shared() { readlink "$scratch/agent.offers"; }
at_end() {
	kill -9 $daemon $agent 2>/dev/null
	if [ -L "$scratch/agent.offers" ]; then rm -rf "$(shared)"; fi
}

# kill_together stop|go AGENT-OPTIONS...: a job and its agent, which was stopped before the job came.
kill_together() {
	local stop=$1
	shift
	rm -f "$scratch/profile.db" "$scratch/progress"
	start_agent "$@" # there is no aggregator yet, so nothing can be stored
	if [ "$stop" = stop ]; then kill -STOP $agent; fi
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
}

# report_of_next AGENT-OPTIONS...: the next agent has another job, and knows of the killed one.
report_of_next() {
	start_aggregator
	start_agent "$@"
	"$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --launches 1000 >"$scratch/out" 2>"$scratch/err" &
	end_all $!
	"$flamegrid" report "$scratch/profile.db" --strict >"$scratch/folded" 2>"$scratch/strict.err"
	same "report --strict" $? 3
	contains "the report says so" "$scratch/strict.err" "INCOMPLETE: 1 of 2 processes"
	"$flamegrid" report "$scratch/profile.db" --format json >"$scratch/json" 2>/dev/null
	contains "it has the reason" "$scratch/json" "the agent was killed before anything of it was stored"
	same "kernels of the other job" "$(grep -o '"kernels":[0-9]*' "$scratch/json" | head -n 1)" '"kernels":1000'
	check "nobody is in the register" [ ! -e "$scratch/agent.guests" ]
	check "no offers are left" [ ! -e "$scratch/agent.offers" ]
	check "nor a link to them" [ ! -L "$scratch/agent.offers" ]
}

kill_together go
same "offers of who was answered" "$(ls "$scratch/agent.offers")" ""
report_of_next
contains "it has the command" "$scratch/json" "--forever"

kill_together stop
same "offers of who was not" "$(ls "$scratch/agent.offers" | wc -l)" 1
report_of_next

kill_together stop --any-user
directory=$(shared)
same "the mode of all users' offers" "$(stat -c %a "$directory")" 1733
same "offers in it" "$(ls "$directory" | wc -l)" 1
report_of_next --any-user
check "the directory is gone" [ ! -e "$directory" ]

# A job that starts while its agent is dead.
rm -f "$scratch/profile.db"
start_agent
kill -9 $agent
wait $agent 2>/dev/null
"$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --launches 10 >"$scratch/out" 2>"$scratch/err"
same "the status of a job without an agent" $? 0
same "offers of a job without an agent" "$(ls "$scratch/agent.offers" | wc -l)" 1
report_of_next
