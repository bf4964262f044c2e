# Launch stacks that the kernel walks (--stack-source uprobe), beside the guest's own walk. Takes root, and BPF.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# by_source SOURCE NAME COMMAND...: a profile, its folded counts from worker() inwards, and what it lacks.
by_source() {
	local source=$1 name=$2
	shift 2

	"$flamegrid" run --stack-source "$source" -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	grep '^flamegrid' "$out/$name.stderr"
	same "$name: lines that say that BPF cannot be used" "$(grep -c 'walk themselves\|cannot be watched' "$out/$name.stderr")" 0
	"$flamegrid" report "$scratch/$name" --format folded --weight count >"$out/$name.count.folded"
	sed 's/^.*;worker(/worker(/; s/^.*;worker;/worker;/' "$out/$name.count.folded" | awk '
		{ n = $NF; line = $0; sub(/ [0-9]+$/, "", line); sum[line] += n } END { for (line in sum) printf "%s %.0f\n", line, sum[line] }' |
		LC_ALL=C sort >"$out/$name.worker.folded"
	same "$name: records without a launch" "$(grep -c '^\[unknown stack\]' "$out/$name.count.folded")" 0
	python3 - "$scratch/$name/profile.db" "$name" <<'PY' || failed=1
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
count = dict(db.execute('select reason, sum(count) from ledger group by 1'))
lost = count.get(38, 0)
print('%s %s: %d of %d stacks were lost on the way from the kernel' % ('NOT OK ' if lost else 'ok     ', sys.argv[2], lost, count.get(0, 0)))
sys.exit(lost != 0)
PY
}

probe_with() {
	case $1 in
	guest | uprobe) local source=$1; shift; "$flamegrid" run -q --stack-source "$source" -o "$scratch/timed" -- "$@" ;;
	*) with "$@" ;;
	esac
}

# ns a launch: no profiler, CUPTI's floor, the guest's walk with the probe idle, the kernel's walk.
probe_cost() {
	local name=$1 kind
	shift

	for _ in 1 2 3 4 5; do
		for kind in none floor guest uprobe; do
			probe_with $kind "$@" 2>/dev/null | sed -n 's/^thread 0 device 0 ns.launch://p' | tr ' ' '\n' | grep -v '^$' |
				tail -n +2 >>"$scratch/$name.$kind"
		done
	done
	for kind in none floor guest uprobe; do printf '%-16s %-7s %s\n' "$name" $kind "$(median <"$scratch/$name.$kind")"; done |
		tee "$out/$name.txt"
	awk -v name="$name" '{ v[$2] = $3 } END { printf "%s: over the floor: the guest %+.0f ns, the kernel %+.0f ns a launch\n",
		name, v["guest"] - v["floor"], v["uprobe"] - v["floor"] }' "$out/$name.txt"
}

probe() {
	local program

	[ "$(id -u)" -eq 0 ] || { not_ok "probe: not root"; return; }
	for threads in 1 4; do
		by_source guest probe_guest$threads "$scratch/programs/launch_bound" 50000 $threads 1
		by_source uprobe probe_uprobe$threads "$scratch/programs/launch_bound" 50000 $threads 1
		check_launch_bound probe_uprobe$threads
		if cmp -s "$out/probe_guest$threads.worker.folded" "$out/probe_uprobe$threads.worker.folded"; then
			ok "probe: the kernel's stacks are the guest's, $threads threads ($(wc -l <"$out/probe_uprobe$threads.worker.folded") lines)"
		else
			not_ok "probe: the kernel's stacks differ from the guest's, $threads threads:"
			diff "$out/probe_guest$threads.worker.folded" "$out/probe_uprobe$threads.worker.folded" | head -n 10
		fi
	done
	probe_cost probe_cost "$scratch/programs/launch_bound" 200000
	program=$(first_of "$root"/tests/red_zone_test "$root"/../tests/red_zone_test)
	if [ -n "$program" ]; then
		if "$program" >"$out/red_zone.txt" 2>&1; then ok "probe: no variable of ours is overwritten"; else
			not_ok "probe: $out/red_zone.txt"; fi
		grep 'red zone' "$out/red_zone.txt"
	fi
	program=$(first_of "$root"/bench/probe_bench "$root"/../bench/probe_bench)
	[ -n "$program" ] && "$program" | tee "$out/probe_bench.txt"
	return 0
}
