# One run, folded twice: agents of made-up nodes send their events to one aggregator, and frame_tee.py gives an aggregator of each
# node the same frames. Their stores are merged: so it is the fold and `flamegrid merge` that are compared. The agent of a node
# that keeps a profile speaks to its aggregator within one process, which no tee can copy. node_profiles_test.sh compares that way
# (`run --aggregate node`, with its link and pages), with a second run, whose events are equal. Sourced, with flamegrid (its path)
# and support (this folder) set. All is on this host, without keys.
# shellcheck shell=bash disable=SC2154

# merged_log NAME COMMAND...: in the background, until it says where it listens; its pid is in $merged_pid, that place in $merged_place.
merged_log() {
	local log=$merged/$1.log
	shift
	"$@" >"$log" 2>&1 &
	merged_pid=$!
	until merged_place=$(grep -sm1 -o 'listening on [^ ]*' "$log"); do kill -0 $merged_pid || return 1; done
	merged_place=${merged_place#listening on }
}

# merged_begin DIRECTORY NODES [AGENT-OPTION...]: DIRECTORY/agent.I is the socket of node I, from 0, for `flamegrid run --agent`.
merged_begin() {
	local nodes=$2 i central bin=${flamegrid%/*}
	merged=$1
	shift 2
	mkdir -p "$merged"
	merged_aggregators='' merged_tees='' merged_agents=''
	merged_log central "$bin/flamegrid-aggregator" --listen 'tcp://127.0.0.1:*' --store "$merged/central.db" || return 1
	central=${merged_place##*:} merged_aggregators=$merged_pid
	for ((i = 0; i < nodes; i++)); do
		merged_log "node.$i" "$bin/flamegrid-aggregator" --listen 'tcp://127.0.0.1:*' --store "$merged/node.$i.db" || return 1
		merged_aggregators="$merged_aggregators $merged_pid"
		merged_log "tee.$i" python3 "$support/frame_tee.py" --target "$central" --copy "${merged_place##*:}" || return 1
		merged_tees="$merged_tees $merged_pid"
		merged_log "agent.$i" "$bin/flamegrid-agent" --connect "$merged_place" --socket "$merged/agent.$i" --node-name "made-up$i" "$@" || return 1
		merged_agents="$merged_agents $merged_pid"
	done
}

# merged_end: ends all, each with status 0, and merges: DIRECTORY/central/profile.db is of the one, DIRECTORY/merged/profile.db of the nodes.
merged_end() {
	local pid

	for pid in $merged_agents $merged_tees $merged_aggregators; do
		kill -TERM "$pid"
		wait "$pid" || return 1
	done
	"$flamegrid" merge "$merged/central.db" -o "$merged/central" 2>"$merged/merge.log" &&
		"$flamegrid" merge "$merged"/node.*.db -o "$merged/merged" 2>>"$merged/merge.log"
}

# merged_lines WAY: of each stack with its node, rank, GPU, stream and thread, its ns, and its count.
merged_lines() {
	"$flamegrid" report "$merged/$1" --by host,rank,gpu,stream,thread -u ns 2>/dev/null | LC_ALL=C sort
	"$flamegrid" report "$merged/$1" --by host,rank,gpu,stream,thread -w count 2>/dev/null | LC_ALL=C sort
}
