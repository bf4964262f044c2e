#!/usr/bin/env bash
# Launch stacks that the kernel walks, beside those of the guest's own walk. Takes root, and BPF.
# shellcheck source=tests/end-to-end/support/harness.sh disable=SC2016 # scripts of other shells
. "$(dirname "$0")/../support/harness.sh"
own_build

list=$(devices 2)

# profile NAME OPTION... -- COMMAND...: a profile in $scratch/NAME; what was said in $scratch/NAME.err.
profile() {
	local name=$1
	shift
	"$flamegrid" run -o "$scratch/$name" --devices "$list" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
}

# folded NAME: by thread's function and inwards. What the C library does around it is not compiled with frame pointers.
folded() {
	"$flamegrid" report "$scratch/$1" --format folded --weight count --by gpu 2>/dev/null |
		sed 's/^\(GPU[0-9]*;\).*;run_thread;/\1run_thread;/' | awk '
			{ n = $NF; line = $0; sub(/ [0-9]+$/, "", line); sum[line] += n }
			END { for (line in sum) print line, sum[line] }' | LC_ALL=C sort >"$scratch/$1.folded"
}

# whole NAME LAUNCHES: nothing is missing, and the stacks are those of the guest.
whole() {
	folded "$1"
	same_lines "$1: stacks as the guest walks them" "$scratch/$1.folded" "$scratch/$3.folded"
	same "$1: launches with their function above them" \
		"$(awk '/;launch_from_k[0-9]+;cudaLaunchKernel;/ { sum += $NF } END { printf "%.0f\n", sum }' "$scratch/$1.folded")" "$2"
	same "$1: stacks lost" "$(ledger "$scratch/$1" probe_lost)" 0
	check "$1: BPF can be used" sh -c '! grep -q "walk themselves" "$1"' sh "$scratch/$1.err"
}

# by_kernel NAME: how much the kernel has walked: it does not see the C library's outermost function (clone3), so that its stacks of the threads are
# one frame shorter than the guest's.
by_kernel() {
	local nr
	nr=$(python3 - "$scratch/guest/profile.db" "$scratch/$1/profile.db" <<'PY'
import collections, sqlite3, sys
def depths(path):
    db = sqlite3.connect(path)
    parent = dict(db.execute('select id, parent from nodes'))
    counts = collections.Counter()
    for stack, count in db.execute('select node, sum(count) from totals group by 1'):
        depth = 0
        while stack:
            stack, depth = parent[stack], depth + 1
        counts[depth] += count
    return counts
whole = depths(sys.argv[1]).most_common(1)[0][0]
print(depths(sys.argv[2])[whole - 1])
PY
	)
	echo "$1: $nr stacks are the kernel's"
	check "$1: some stacks are the kernel's" [ "$nr" -gt 0 ]
}

# ---- the same program by both
work=("$fake_launches" --devices 2 --threads 4 --streams 3 --launches 20000 --kernels 7 --copies 50)
export FAKE_CUDA_DEVICES=2
profile guest -- "${work[@]}"
folded guest
FAKE_CUDA_LAUNCH_NS=20000 profile uprobe --stack-source uprobe -- "${work[@]}"
whole uprobe 80000 guest
by_kernel uprobe
profile auto --stack-source auto -- "${work[@]}"
folded auto
same_lines "auto: as the guest" "$scratch/auto.folded" "$scratch/guest.folded"

# ---- two processes of four threads each
two=(sh -c '"$@" & "$@" & wait' sh "${work[@]}")
profile two.guest -- "${two[@]}"
folded two.guest
FAKE_CUDA_LAUNCH_NS=20000 profile two --stack-source uprobe -- "${two[@]}"
whole two 160000 two.guest
by_kernel two

# ---- a process that ends at once, however it does
for how in return _exit kill9-self; do
	profile "$how" --stack-source uprobe -- "$fake_launches" --launches 1000 --exit "$how" 2>/dev/null
	folded "$how"
	same "$how: stacks lost" "$(ledger "$scratch/$how" probe_lost)" 0
	same "$how: GPU work with its function above it" \
		"$(awk '/;launch_from_k[0-9]+;cudaLaunchKernel;/ { sum += $NF } END { printf "%.0f\n", sum }' "$scratch/$how.folded")" \
		"$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$scratch/$how.folded")"
	same "$how: GPU records under no launch" "$(ledger "$scratch/$how" unmatched_record)" 0
done

# ---- forks and execs while captured
profile forks --stack-source uprobe -- sh -c '"$@" && exec "$@"' sh "$fake_launches" --threads 4 --launches 5000 --kernels 3
profile forks.guest -- sh -c '"$@" && exec "$@"' sh "$fake_launches" --threads 4 --launches 5000 --kernels 3
folded forks.guest
whole forks 40000 forks.guest

# ---- captured graphs: a node's stack is the guest's own walk
if [ -x "$BUILD/tests/fake_graphs" ]; then
	profile graphs.guest -- "$BUILD/tests/fake_graphs"
	profile graphs --stack-source uprobe -- "$BUILD/tests/fake_graphs"
	same "graphs: stacks lost" "$(ledger "$scratch/graphs" probe_lost)" 0
	same "graphs: nodes whose capture is not known" "$(ledger "$scratch/graphs" capture_unknown)" \
		"$(ledger "$scratch/graphs.guest" capture_unknown)"
	for name in graphs.guest graphs; do
		"$flamegrid" report "$scratch/$name" --format folded --weight count 2>/dev/null | awk '
			{ n = $NF; line = $0; sub(/ [0-9]+$/, "", line); sum[line] += n }
			END { for (line in sum) print line, sum[line] }' | LC_ALL=C sort >"$scratch/$name.folded"
	done
	same_lines "graphs: stacks as the guest walks them" "$scratch/graphs.folded" "$scratch/graphs.guest.folded"
fi

# ---- an agent that can't keep up: what the kernel has no room for is counted, and no GPU time is missing
cat >"$scratch/stop.sh" <<'STOP'
agent=$1 pipe=$2
shift 2
mkfifo "$pipe"
"$@" --progress "$pipe" &
exec 3<"$pipe"
until ls -l "/proc/$agent/fd" | grep -q 'perf_event'; do read -r _ <&3; done # the probe is watched
read -r _ <&3
read -r _ <&3
kill -STOP "$agent"
count=0
while [ $count -lt 60 ] && read -r _ <&3; do count=$((count + 1)); done
kill -CONT "$agent"
cat <&3 >/dev/null
wait
STOP
FAKE_CUDA_LAUNCH_NS=10000 profile behind --stack-source uprobe -- sh -c 'exec sh "$0" $PPID "$@"' "$scratch/stop.sh" \
	"$scratch/pipe" "$fake_launches" --threads 4 --launches 30000 --kernels 2
folded behind
lost=$(ledger "$scratch/behind" probe_lost)
echo "behind: $lost of 120000 stacks were lost"
check "behind: stacks were lost" [ "$lost" -gt 0 ]
same "behind: launches with a stack or a mark" "$(awk '
	/(^|;)\[frames missing\];cuLaunchKernel;\[GPU0_Kernel\]/ { sum += $NF }
	/;launch_from_k[0-9]+;cudaLaunchKernel;\[GPU0_Kernel\]/ { sum += $NF } END { printf "%.0f\n", sum }' "$scratch/behind.folded")" 120000
same "behind: launches with a mark" \
	"$(awk '/\[frames missing\];cuLaunchKernel;/ { sum += $NF } END { printf "%.0f\n", sum }' "$scratch/behind.folded")" "$lost"
same "behind: GPU records under no launch" "$(ledger "$scratch/behind" unmatched_record)" 0

# ---- who may not use BPF is told so in one line, and has the guest's walk
mkdir "$scratch/other"
chmod 777 "$scratch" "$scratch/other"
if setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all true 2>/dev/null; then
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all env HOME="$scratch/other" \
		"$flamegrid" run -o "$scratch/other/profile" --devices "$list" --stack-source uprobe -- "${work[@]}" \
		>"$scratch/other.out" 2>"$scratch/other.err"
	same "without rights: lines on it" "$(grep -c 'walk themselves' "$scratch/other.err")" 1
	contains "without rights: what is missing" "$scratch/other.err" "CAP_BPF"
	mv "$scratch/other/profile" "$scratch/unprivileged"
	folded unprivileged
	same_lines "without rights: the guest's stacks" "$scratch/unprivileged.folded" "$scratch/guest.folded"
else
	not_ok "setpriv cannot become another user"
fi

# ---- wrong words
"$flamegrid" run --stack-source kernel -- true 2>"$scratch/wrong.err"
same "another word is refused" $? 125
contains "and named" "$scratch/wrong.err" "--stack-source kernel"
