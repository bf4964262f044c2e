#!/usr/bin/env bash
# Stacks of a Python program: each launch under its function and line, by mode; coarser without lines.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$(dirname "$0")/python_launches.py
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
line() { grep -nF -- "$1" "$program" | head -n 1 | cut -d: -f1; }
# run MODE: profiles 40 launches of each kind; leaves a folded file of counts.
run() {
	"$flamegrid" run --stacks "$1" -o "$scratch/$1" --devices "$list" -- python3 "$program" 40 2>"$scratch/$1.err"
	same "$1: status" $? 0
	"$flamegrid" report "$scratch/$1" --weight count >"$scratch/$1.folded"
	same "$1: launches" "$(sum_folded "$scratch/$1.folded")" 164
}
# count MODE EXPRESSION: the sum of the lines that match.
count() { grep -E -- "$2" "$scratch/$1.folded" | sum_folded; }

f=python_launches.py
top="$f:<module>:$(line 'main(int(')"
main=$top\;$f:main:$(awk '/^def main/ { inside = 1 } inside && /train\(model, count\)/ { print NR; exit }' "$program")
loop=$(line 'model.forward()')
step=$(line 'check(cuda.cuLaunchKernel')
forward="$f:train:$loop;$f:Model.forward:$(line 'launch(self.gemm)');$f:launch:$step"
layers="$f:train:$(line 'for _ in model.layers');$f:Model.layers:$(line 'launch(self.scale)');$f:launch:$step"
key="$f:train:$(line 'sorted(range');$f:train.<locals>.<lambda>:$(line 'sorted(range');$f:launch:$step"
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo "python3 is older than 3.11, which has no qualified names; the test needs them"
	not_ok "python3 3.11 or newer"
	exit
fi

run leaf
same "leaf: forward, main thread" "$(count leaf "^$main;$forward;.*;cuLaunchKernel;\[GPU0_Kernel\]gemm ")" 40
same "leaf: generator, main thread" "$(count leaf "^$main;$layers;.*;cuLaunchKernel;\[GPU0_Kernel\]scale ")" 40
same "leaf: through C and back" "$(count leaf "^$main;$key;.*;cuLaunchKernel;\[GPU0_Kernel\]gemm ")" 2
thread=$(awk '/^def on_thread/ { inside = 1 } inside && /train\(model, count\)/ { print NR; exit }' "$program")
same "leaf: thread, too" "$(count leaf "threading.py:Thread.run:[0-9]+;$f:on_thread:$thread;$f:train:")" 82
same "leaf: no native frame between Python's" "$(count leaf ';_PyEval')" 0
same "leaf: every stack is whole" "$(count leaf '\[frames missing\]|\[stack truncated\]|frames differ')" 0
same "leaf: ctypes is between Python and CUDA" "$(count leaf "$f:launch:$step;.*ffi_call.*;cuLaunchKernel;")" 164

run full
same "full: main thread begins with the program's start" "$(count full "^\[program start\];.*$f:<module>:")" 82
same "full: C between the functions" "$(count full "$f:train:[0-9]+;([^;]*;)+$f:train.<locals>.<lambda>:")" 4
same "full: no evaluation loop is left" "$(count full ';_PyEval_EvalFrameDefault')" 0
same "full: every stack is whole" "$(count full '\[frames missing\]|\[stack truncated\]|frames differ')" 0

run native
same "native: no Python line" "$(count native '\.py:')" 0
same "native: loops" "$(count native '_PyEval_EvalFrameDefault;.*;cuLaunchKernel;')" 164

run python
same "python: nothing native but the call" "$(count python "^$main;$forward;cuLaunchKernel;\[GPU0_Kernel\]gemm ")" 40

run none
same "none: nothing but the call" "$(cut -d';' -f1 "$scratch/none.folded" | sort -u)" cuLaunchKernel

"$flamegrid" report "$scratch/leaf" --weight count --lines off >"$scratch/coarse"
same "lines off: sum" "$(sum_folded "$scratch/coarse")" 164
contains "lines off" "$scratch/coarse" "$f:<module>;$f:main;$f:train;$f:Model.forward;$f:launch;"
same "lines off: no lines" "$(grep -cE '\.py:[^;]*:[0-9]+' "$scratch/coarse")" 0

"$flamegrid" run --stacks leaf,96,2 -o "$scratch/cap" --devices "$list" -- python3 "$program" 5 2>"$scratch/err"
same "depth cap: status" $? 0
"$flamegrid" report "$scratch/cap" --weight count >"$scratch/cap.folded"
same "depth cap: frames nearest to the launch" \
	"$(grep -cE "^\[stack truncated\];$f:Model.forward:[0-9]+;$f:launch:" "$scratch/cap.folded")" 1
contains "depth cap: counted" "$scratch/err" "[stack_truncated]: 24"

"$flamegrid" run --stacks bottom -o "$scratch/bad" -- true 2>"$scratch/err"
same "no such mode: status" $? 125
contains "no such mode" "$scratch/err" "--stacks bottom: not leaf, full, native, python or none"

"$flamegrid" report "$scratch/leaf" --weight count --frames user >"$scratch/user"
same "frames user: sum" "$(sum_folded "$scratch/user")" 164
same "frames user: the user's lines stand next to the call" \
	"$(grep -E "^$main;$forward;(\[[^;]*\];)*cuLaunchKernel;" "$scratch/user" | sum_folded)" 40
same "frames user: Python's own library is one frame" \
	"$(grep -E "^\[python\];$f:on_thread:$thread;$f:train:" "$scratch/user" | sum_folded)" 82
same "frames user: nothing of threading.py" "$(grep -c 'threading.py' "$scratch/user")" 0
