# One run, profiled both ways: agents of made-up nodes send their events to one aggregator, and frame_tee.py gives an aggregator
# of each node the same frames, as a node's own. Sourced, with flamegrid (its path) and support (this folder) set. All is on
# this host, without keys.
# shellcheck shell=bash disable=SC2154

# both_log NAME COMMAND...: in the background, until it says where it listens; its pid is in $both_pid, that place in $both_place.
both_log() {
	local log=$both/$1.log
	shift
	"$@" >"$log" 2>&1 &
	both_pid=$!
	until both_place=$(grep -sm1 -o 'listening on [^ ]*' "$log"); do kill -0 $both_pid || return 1; done
	both_place=${both_place#listening on }
}

# both_begin DIRECTORY NODES [AGENT-OPTION...]: DIRECTORY/agent.I is the socket of node I, from 0, for `flamegrid run --agent`.
both_begin() {
	local nodes=$2 i central bin=${flamegrid%/*}
	both=$1
	shift 2
	mkdir -p "$both"
	both_aggregators='' both_tees='' both_agents=''
	both_log central "$bin/flamegrid-aggregator" --listen 'tcp://127.0.0.1:*' --store "$both/central.db" || return 1
	central=${both_place##*:} both_aggregators=$both_pid
	for ((i = 0; i < nodes; i++)); do
		both_log "node.$i" "$bin/flamegrid-aggregator" --listen 'tcp://127.0.0.1:*' --store "$both/node.$i.db" || return 1
		both_aggregators="$both_aggregators $both_pid"
		both_log "tee.$i" python3 "$support/frame_tee.py" --target "$central" --copy "${both_place##*:}" || return 1
		both_tees="$both_tees $both_pid"
		both_log "agent.$i" "$bin/flamegrid-agent" --connect "$both_place" --socket "$both/agent.$i" --node-name "made-up$i" "$@" || return 1
		both_agents="$both_agents $both_pid"
	done
}

# both_end: ends all, each with status 0, and merges: DIRECTORY/central/profile.db is of the one, DIRECTORY/folded/profile.db of the nodes.
both_end() {
	local pid

	for pid in $both_agents $both_tees $both_aggregators; do
		kill -TERM "$pid"
		wait "$pid" || return 1
	done
	"$flamegrid" merge "$both/central.db" -o "$both/central" 2>"$both/merge.log" &&
		"$flamegrid" merge "$both"/node.*.db -o "$both/folded" 2>>"$both/merge.log"
}

# both_lines WAY: of each stack with its node, rank, GPU, stream and thread, its ns, and its count.
both_lines() {
	"$flamegrid" report "$both/$1" --by host,rank,gpu,stream,thread -u ns 2>/dev/null | LC_ALL=C sort
	"$flamegrid" report "$both/$1" --by host,rank,gpu,stream,thread -w count 2>/dev/null | LC_ALL=C sort
}
