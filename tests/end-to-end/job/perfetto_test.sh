#!/usr/bin/env bash
# `run --timeline` and `timeline`: each event is the fake CUDA's truth, to the nanosecond, also of a part of the time; flows lead
# from the right launches; what is damaged or was dropped is counted.
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
list=$(devices 2)
timeline() { "$flamegrid" timeline "$@" -o "$scratch/t.perfetto" 2>"$scratch/err"; }
compare() { python3 "$readers/read_perfetto.py" "$scratch/t.perfetto" "$scratch/records" "$@" >"$scratch/out" 2>&1 || tail -n 3 "$scratch/out"; }
word() { awk -v key="$1" '$1 == key { print $'"$2"' }' "$scratch/out"; }

FAKE_CUDA_DEVICES=2 FAKE_CUDA_RECORDS=$scratch/records RANK=3 "$flamegrid" run --timeline all -o "$scratch/p" --devices "$list" \
	--node-name "host a" -- "$fake_launches" --devices 2 --streams 2 --threads 2 --launches 20000 --kernels 3 --copies 50 \
	>/dev/null 2>"$scratch/err"
same "run: status" $? 0
check "all" timeline "$scratch/p"
cp "$scratch/err" "$scratch/whole.err"
compare
contains "each event is the truth's" "$scratch/out" exact
same "a flow for each piece of work" "$(word flows 2) $(word flows 4)" "$(word work 2) 0"
same "a launch for each of them" "$(word launches 2)" "$(wc -l <"$scratch/records")"
check "at most 50 bytes an event" [ "$(word bytes 2 | cut -d. -f1)" -lt 50 ]
check "at most 6 bytes an event on the node" [ "$(cat "$scratch"/p/profile.db.timeline/* | wc -c)" -lt $((6 * 2 * $(word work 2))) ]
contains "tracks" "$scratch/out" "paths host/rank/GPU/idle host/rank/GPU/stream host/rank/thread"
check "busy time and idle time of both GPUs: a recount's" [ "$(word busy 2)" -gt 100 ]
same "its sum is the profile's" "$(word work 4)" "$("$flamegrid" report "$scratch/p" --unit ns -f folded 2>/dev/null | sum_folded)"

# ---- Chrome's format has the same
check "chrome: written" "$flamegrid" timeline "$scratch/p" -f chrome -o "$scratch/t.json" 2>"$scratch/err"
python3 "$readers/read_chrome.py" "$scratch/t.json" "$scratch/t.perfetto" >"$scratch/chrome" 2>&1 || not_ok "chrome: $(tail -n 1 "$scratch/chrome")"
same "chrome: each slice and instant is there" "$(awk '$1 == "slices" { print ($2 > 0) }' "$scratch/chrome")" 1
same "chrome: a flow for each launch" "$(awk '$1 == "flows" { print $2 }' "$scratch/chrome")" "$(word flows 2)"
same "chrome: one process" "$(awk '$1 == "processes" { print $2 }' "$scratch/chrome")" 1
"$flamegrid" timeline "$scratch/p" --steps -f chrome -o "$scratch/x" 2>"$scratch/err"
same "chrome: steps are no trace" $? 2

# ---- the page has a time axis of the same events
"$flamegrid" report "$scratch/p" -f json >"$scratch/json" 2>/dev/null
python3 "$readers/read_strips.py" "$scratch/p/flame.html" "$scratch/json" >"$scratch/strips" 2>&1
same "strips, steps, and each as busy as its GPU" "$(tr '\n' ' ' <"$scratch/strips")" "2 0 exact "
contains "its profile is named" <(page_data "$scratch/p/flame.html") "\"path\":\"$scratch/p/profile.db\""

# ---- a file that cannot be written: what was there stays, and a device is none of ours to remove
echo mine >"$scratch/kept"
mkdir "$scratch/dev"
(
	ulimit -f 1
	trap '' XFSZ
	exec "$flamegrid" timeline "$scratch/p" -o "$scratch/kept" >/dev/null 2>"$scratch/err"
)
same "no room: status" $? 1
contains "no room: said" "$scratch/err" "kept: File too large"
same "no room: the file of before" "$(cat "$scratch/kept")" mine
same "no room: nothing else stays" "$(ls "$scratch" | grep -c '^kept')" 1
for output in profile.db profile.db.timeline/00000001.events; do
	"$flamegrid" timeline "$scratch/p" -o "$scratch/p/$output" >/dev/null 2>"$scratch/err"
	same "$output: status" $? 1
	contains "$output: said" "$scratch/err" "the profile itself"
done
if [ "$(id -u)" = 0 ] && mknod "$scratch/dev/full" c 1 7; then
	"$flamegrid" timeline "$scratch/p" -o "$scratch/dev/full" 2>"$scratch/err"
	same "a full device: status" $? 1
	contains "a full device: said" "$scratch/err" "No space left on device"
	check "a full device: is still there" [ -c "$scratch/dev/full" ]
fi

first=$(word launches 4) offset=$(word launches 6) from=$(word quarters 2) to=$(word quarters 3) all=$(word work 2)
check "a part" timeline "$scratch/p" --from "${from}ns" --to "${to}ns"
compare "$offset" $((first + from)) $((first + to))
check "a part: about half" [ "$(word work 2)" -lt $((all * 3 / 4)) ]
contains "a part: each event is the truth's, and no other" "$scratch/out" exact
same "a part: work whose launch came before it is counted" \
	"$(sed -n 's/.*: \([0-9]*\) piece[s]* of GPU work ha[sve]* no launch here.*/\1/p' "$scratch/err" | grep . || echo 0)" "$(word flows 4)"
check "from some time on" timeline "$scratch/p" --from "${from}ns"
compare "$offset" $((first + from)) $((first << 1))
contains "from some time on: each event is the truth's" "$scratch/out" exact
check "up to some time" timeline "$scratch/p" --to "${to}ns"
compare "$offset" 0 $((first + to))
contains "up to some time: each event is the truth's" "$scratch/out" exact
timeline "$scratch/p" --ranks 0-2,4
same "no such rank: status" $? 4
contains "no such rank: those that are there" "$scratch/err" "none of these ranks is in the profile, which has rank 3"
timeline "$scratch/p" --from 9h
same "behind the end: status" $? 4
contains "behind the end: how long it is" "$scratch/err" "--from is behind the end: the timeline lasts $(sed -n 's/.*has events of \([0-9.]* s\).*/\1/p' "$scratch/whole.err")"
check "this rank" timeline "$scratch/p" --ranks 1,3
compare
contains "this rank: all of it" "$scratch/out" exact

# ---- what does not go well
file=$(ls "$scratch"/p/profile.db.timeline/*.events)
printf 'damage' | dd of="$file" bs=1 seek=200 conv=notrunc 2>/dev/null
timeline "$scratch/p"
same "damaged: status" $? "$(grep -q 'no event' "$scratch/err" && echo 1 || echo 3)"
rm -r "$scratch/p/profile.db.timeline"
timeline "$scratch/p"
same "none was kept: status" $? 1
contains "none was kept" "$scratch/err" "run --timeline all keeps one"
for bad in never 0s; do
	"$flamegrid" run --timeline $bad -o "$scratch/q" true 2>"$scratch/err"
	same "--timeline $bad: status" $? 125
	contains "--timeline $bad" "$scratch/err" "neither \`all\` nor a time"
done
"$flamegrid" timeline "$scratch/p" --ranks 3-1 -o "$scratch/t" 2>"$scratch/err"
same "--ranks 3-1: status" $? 2

# ---- an earlier profile is moved with its timeline, and one without a result leaves none
FAKE_CUDA_DEVICES=2 "$flamegrid" run --timeline 1h -o "$scratch/m" --devices "$list" -- "$fake_launches" --launches 100 >/dev/null 2>&1
"$flamegrid" run --timeline all -o "$scratch/m" -- true 2>/dev/null
same "a run without a result" "$(cd "$scratch" && echo m*/profile.db.timeline/*)" "m/profile.db.timeline/00000001.events"

# ---- the ranks of a step, which goes on until the clocks of both hosts were compared
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkfifo "$scratch/nothing"
two_ranks() { # STORE WAY [AHEAD-0 AHEAD-1]: seconds that the clocks of a host are ahead
	local r ahead=("${@:3}") compared=$scratch/compared.$1
	cat >"$scratch/job" <<-JOB
		"$fake_launches" --devices 1 --launches 2000
		until [ -e "$compared" ]; do read -r -t 0.05 _ <>"$scratch/nothing"; done
	JOB
	for r in 0 1; do
		env PMIX_NAMESPACE="$1" OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_DEVICES=2 \
			FAKE_CUDA_RECORDS="$scratch/records.$r" ${ahead[r]+unshare -T --monotonic "${ahead[r]}" --boottime "${ahead[r]}"} \
			"$flamegrid" run --timeline all --aggregate "$2" --node-name "$1$r" -o "$scratch/$1" --devices "$list" -- bash "$scratch/job" >/dev/null 2>"$scratch/err.$r" &
	done
	until [ "$("$flamegrid" report "$scratch/$1" --clocks --format csv 2>/dev/null | awk -F, '$2 > 0 { n++ } END { print n - 1 }')" = 2 ]; do
		read -r -t 0.05 _ <>"$scratch/nothing"
	done
	touch "$compared"
	wait
	await_keepers
}
two_ranks step auto
check "two ranks" timeline "$scratch/step"
contains "two ranks: both are there" "$scratch/err" "of 2 processes"
contains "two ranks: how well their clocks agree" "$scratch/err" "2 hosts on one clock, give or take"
for r in 0 1; do
	check "rank $r" timeline "$scratch/step" --ranks $r
	mv "$scratch/records.$r" "$scratch/records"
	compare
	contains "rank $r: each event is the truth's" "$scratch/out" exact
done

# ---- hosts whose clocks are seconds apart: CUPTI's clock, which they have in common, is as far from the timeline's on both
if unshare -T --monotonic 5 --boottime 5 true 2>/dev/null; then
	for way in central node; do
		two_ranks skew-$way $way 5 -5
		offsets=
		for r in 0 1; do
			check "skewed, $way: rank $r" timeline "$scratch/skew-$way" --ranks $r
			mv "$scratch/records.$r" "$scratch/records"
			compare
			contains "skewed, $way: rank $r: each event is the truth's" "$scratch/out" exact
			offsets="$offsets $(word launches 6)"
		done
		bound=$(sed -n 's/.*give or take \([0-9]*\) ns.*/\1/p' "$scratch/err")
		check "skewed, $way: $offsets are within $bound ns" awk -v offsets="$offsets" -v bound="$bound" \
			'BEGIN { split(offsets, at, " "); apart = at[1] - at[2]; exit !(bound > 0 && apart <= 2 * bound && apart >= -2 * bound) }'
		"$flamegrid" report "$scratch/skew-$way" --clocks --format csv 2>/dev/null >"$scratch/clocks"
		check "skewed, $way: their clocks are 10 s apart" awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			{ apart = $at["offset_ns"] < 0 ? -$at["offset_ns"] : $at["offset_ns"]; if (apart > most) most = apart }
			END { exit !(most > 9e9 && most < 11e9) }' "$scratch/clocks"
	done
else
	ok "no time namespaces here: skewed clocks are left out"
fi
