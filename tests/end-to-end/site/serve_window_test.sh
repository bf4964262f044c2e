#!/usr/bin/env bash
# `flamegrid serve --control`: a button of the list opens a capture window on all ranks of a job, and nothing else does. Arguments: node and chromium;
# without them no browser tries it.
browser=$(realpath "$(dirname "$0")/serve_window_browser.mjs") client=$(realpath "$(dirname "$0")/serve_window_client.py")
. "$(dirname "$0")/../support/harness.sh"
node=${1:-} chromium=${2:-} server=''
export XDG_RUNTIME_DIR=$scratch/runtime TMPDIR=$scratch/runtime # other tests run beside this one
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkfifo "$scratch/url" "$scratch/nothing"
node_devices 2 0
declare -A rank_pid
at_end() { kill -9 $server ${rank_pid[*]} 2>/dev/null; }
for r in 0 1; do
	env PMIX_NAMESPACE=job OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$r FAKE_CUDA_HOST_SEED=1 FAKE_CUDA_DEVICES=2 timeout 120 \
		"$flamegrid" run --node-name node0 --devices "$scratch/devices.0" -o "$scratch/job" --capture-range control -- "$BUILD/tests/fake_windows" \
		--until "$scratch/over" >"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
done
# Until the command reaches both processes; a stop changes nothing.
has_both() { "$flamegrid" control stop "$scratch/job" >"$scratch/taken" 2>/dev/null && [ "$(awk '/node0/ { print $1, $2 }' "$scratch/taken")" = "yes 2" ]; }
for _ in $(seq 200); do
	has_both && break
	read -r -t 0.05 _ <>"$scratch/nothing"
done
same "both ranks are there" "$(awk '/node0/ { print $1, $2 }' "$scratch/taken")" "yes 2"

start() {
	"$flamegrid" serve --listen 127.0.0.1:0 "$@" "$scratch/job" >"$scratch/url" 2>"$scratch/serve.err" &
	server=$!
	read -r url <"$scratch/url" || { cat "$scratch/serve.err"; exit 1; }
}
stop() {
	kill -TERM $server
	wait $server
	same "$1: status" $? 0
	server=''
}
compared() {
	"$@" >"$scratch/compared" 2>"$scratch/compared.err"
	same "${2##*/} ended" "$? $(cat "$scratch/compared.err")" "0 "
	while IFS=$'\t' read -r what is expected; do same "$what" "$is" "$expected"; done <"$scratch/compared"
}
start
compared python3 "$client" "$url" refused
stop "without --control"
start --control
compared python3 "$client" "$url" opened
same "each window is told once" "$(grep -c "a browser opens a capture window of 1s: $scratch/job" "$scratch/serve.err")" 1
same "so is each refusal" "$(grep -c 'a request for a capture window is refused' "$scratch/serve.err")" 6
if [ -n "$node" ]; then
	compared "$node" "$browser" "$chromium" "$url"
else
	ok "no browser here: it is not tried in one"
fi
stop "with --control"
touch "$scratch/over"
for r in 0 1; do
	wait ${rank_pid[$r]}
	same "rank $r: status" $? 0
done
rank_pid=()
"$flamegrid" report "$scratch/job" >"$scratch/folded" 2>"$scratch/err"
# The browser's window may have begun while the first one was open.
same "the windows were those of the buttons, on both ranks" "$(grep -cE 'in [234] windows, not the run' "$scratch/err")" 1
