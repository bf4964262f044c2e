# Jobs at a site's aggregator: two at once, each with its own profile and its own counts; and one whose aggregator is not there.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# await_line FILE TEXT: until it is there, a minute at most.
await_line() {
	for _ in $(seq 600); do
		grep -qF -- "$2" "$1" && return 0
		read -r -t 0.1 _ <>"$scratch/nothing"
	done
	return 1
}

# site_job NAME LAUNCHES: in the background; its pid is in $!.
site_job() {
	FLAMEGRID_CONFIG=$scratch/site.conf "$flamegrid" run -- "$scratch/programs/launch_bound" "$2" >"$out/$1.stdout" 2>"$out/$1.stderr" &
}

site() {
	local service log=$out/site.service.log name profile at
	local -A job

	mkfifo "$scratch/nothing" 2>/dev/null
	"$flamegrid" keygen "$scratch/site.keys" >/dev/null
	"$flamegrid" aggregate --keys "$scratch/site.keys/aggregator.keys" --listen 'tcp://127.0.0.1:*' --store "$scratch/site.db" --jobs "$scratch/site.jobs" 2>"$log" &
	service=$!
	await_line "$log" 'listening on' || not_ok "site: the aggregator has not started"
	at=$(sed -n 's/^flamegrid-aggregator: listening on //p' "$log")
	printf 'aggregator %s\nkeys %s\n' "$at" "$scratch/site.keys/agent.keys" >"$scratch/site.conf"
	site_job site_one 20000
	job[site_one]=$!
	site_job site_other 30000
	job[site_other]=$!
	for name in site_one site_other; do
		wait "${job[$name]}"
		same "site: $name: status" $? 0
		profile=$(sed -n 's/^flamegrid: run: the profile is [^:]*://p' "$out/$name.stderr")
		if await_line "$log" "$profile is complete"; then ok "site: $profile is complete"; else not_ok "site: $name: $(cat "$out/$name.stderr")"; fi
		"$flamegrid" report "$profile" --weight count >"$out/$name.count.folded" 2>"$out/$name.summary"
		check_launch_bound $name
		"$flamegrid" report "$profile" --strict -o /dev/null 2>/dev/null
		same "site: $name: report --strict" $? 0
		same "site: $name: files" "$(cd "$profile" && ls flame.html gpu.ns.folded profile.db | tr '\n' ' ')" "flame.html gpu.ns.folded profile.db "
	done
	kill -TERM $service
	wait $service
	same "site: the aggregator's status" $? 0
	site_job site_gone 20000
	wait $!
	same "site: without it: status" $? 0
	same "site: without it: what is said" "$(cat "$out/site_gone.stderr")" "flamegrid: run: $at: the aggregator cannot be reached: this node is not profiled"
}
