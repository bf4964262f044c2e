# What the tests with an aggregator and an agent of their own share; sourced after harness.sh, once $list is a device list.
endpoint=ipc://$scratch/aggregator
daemon='' agent=''

at_end() { kill -9 $daemon $agent 2>/dev/null; }

# start NAME COMMAND...: in the background, until it says that it listens; its pid is in $started, its words in NAME.log.
start() {
	local name=$1
	shift
	mkfifo "$scratch/ready"
	"$@" 2> >(tee -p "$scratch/ready" >>"$scratch/$name.log") &
	started=$!
	grep -m1 -q 'listening on' "$scratch/ready"
	rm -f "$scratch/ready"
}

# The aggregator is $daemon, and stores to profile.db; $agent listens on the socket "agent".
start_aggregator() {
	start aggregator "$BUILD/bin/flamegrid-aggregator" --listen "$endpoint" --store "$scratch/profile.db"
	daemon=$started
}
start_agent() {
	start agent "$BUILD/bin/flamegrid-agent" --connect "$endpoint" --socket "$scratch/agent" --devices "$list" "$@"
	agent=$started
}

# end_all JOB: waits for the job, then ends agent and aggregator; all with status 0.
end_all() {
	wait "$1"
	same "the job's status" $? 0
	kill -TERM $agent
	wait $agent
	same "the agent's status" $? 0
	kill -TERM $daemon
	wait $daemon
	same "the aggregator's status" $? 0
}
