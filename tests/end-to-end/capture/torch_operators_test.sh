#!/usr/bin/env bash
# Backward kernels under their forward lines, with real operators of Debian's PyTorch. For 1.13 a library of the tests
# tells which node is evaluated; later versions do so themselves. PyTorch's anomaly mode knows the truth.
. "$(dirname "$0")/../support/harness.sh"
here=$(dirname "$0")
list=$(devices 1)
device=$BUILD/lib/torch-device/libtorch_device.so
node=$BUILD/lib/torch-device/libtorch_cpu.so # for 1.13 alone
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13

# run NAME PRELOADED
run() {
	"$flamegrid" run -o "$scratch/$1" --devices "$list" -- env LD_PRELOAD="$2" \
		/usr/bin/python3 -W ignore "$here/torch_operators.py" "$device" "$scratch/$1.truth" 2>"$scratch/$1.err"
}
# launches NAME: what the program launched.
launches() { grep -o '"launches": [0-9]*' "$scratch/$1.truth" | cut -d' ' -f2; }
# captured NAME: leaves NAME.folded, of counts.
captured() {
	"$flamegrid" report "$scratch/$1" --weight count >"$scratch/$1.folded"
	same "$1: all launches" "$(sum_folded "$scratch/$1.folded")" "$(launches "$1")"
}
# total VERDICT [KIND]: the launches of PyTorch's own nodes with this verdict.
total() {
	awk -v verdict="$1" -v kind="${2:-}" \
		'$3 == verdict && $1 != "AccumulateGrad" && (!kind || $2 == kind)' "$scratch/lines" | sum_folded
}

custom=exact # a function of the user's own: the report looks for a Python frame that 1.13 does not have
if [ -e "$node" ]; then
	custom=near
	run plain "$device" &
	plain=$!
	run real "$device:$node"
else
	run real "$device"
fi
same "status" $? 0
captured real
# On a busy machine launches come before the unwind tables of the libraries that they pass.
check "nearly all stacks have their native frames" [ "$(ledger "$scratch/real" stack_partial)" -lt "$(($(launches real) / 20))" ]

/usr/bin/python3 "$here/torch_operators_lines.py" "$scratch/real.folded" "$scratch/real.truth" \
	>"$scratch/lines" 2>"$scratch/wrong"
same "the truth was read" $? 0
cat "$scratch/lines" "$scratch/wrong"
same "lines that are wrong and not marked" "$(total wrong)" 0
same "work without a line is counted" "$(total caller)" "$(ledger "$scratch/real" origin_unknown)"
check "a derivative's derivative has the first one's line" [ "$(total exact derivative)" -ge 200 ]
for class in CopySlices DivBackward0 MmBackward0 MulBackward0 SoftmaxBackwardDataBackward0 TanhBackwardBackward0; do
	same "a derivative's derivative: $class" "$(grep "^$class derivative" "$scratch/lines" | cut -d' ' -f3)" exact
done
check "a view in a derivative is marked" grep -q '^ExpandBackward0 derivative right' "$scratch/lines"
in_place() { grep "^CopySlices once $1 " "$scratch/lines" | sum_folded; }
check "an operation in place on a view is proven" [ "$(in_place exact)" -ge 100 ]
check "it is not where a Python function runs within it" [ "$(in_place near)" -gt 0 ]
check "a view is marked" grep -q '^SelectBackward0 once near' "$scratch/lines"
check "accumulation is under the call of backward()" grep -q '^AccumulateGrad once caller' "$scratch/lines"
same "accumulation is nowhere else" "$(grep -c '^AccumulateGrad' "$scratch/lines")" 1
check "an operation of a checkpoint has its second line" grep -q '^AddmmBackward0 again exact' "$scratch/lines"
check "a function of the user's own has a line" grep -q "^PyNode once $custom" "$scratch/lines"

# Classes of which no launch has another verdict, in all versions.
sort >"$scratch/want" <<-'TEXT'
	AbsBackward0
	AdaptiveAvgPool2DBackward0
	AddBackward0
	AddmmBackward0
	AvgPool2DBackward0
	BinaryCrossEntropyWithLogitsBackward0
	BmmBackward0
	CdistBackward0
	ClampBackward1
	ConstantPadNdBackward0
	CumsumBackward0
	DivBackward0
	EmbeddingBackward0
	ExpBackward0
	FlipBackward0
	GatherBackward0
	IndexBackward0
	IndexSelectBackward0
	LogSoftmaxBackward0
	LogsumexpBackward0
	MaskedFillBackward0
	MaskedSelectBackward0
	MaxBackward1
	MaxPool2DWithIndicesBackward0
	MaximumBackward0
	MeanBackward0
	MeanBackward1
	MmBackward0
	MseLossBackward0
	NativeBatchNormBackward0
	NativeGroupNormBackward0
	NativeLayerNormBackward0
	NegBackward0
	PowBackward0
	ProdBackward1
	ReluBackward0
	RepeatBackward0
	RollBackward0
	ScatterBackward1
	SigmoidBackward0
	SiluBackward0
	SmoothL1LossBackward0
	SoftmaxBackward0
	SortBackward0
	StdBackward0
	SubBackward0
	SumBackward0
	TanhBackward0
	ToCopyBackward0
	TopkBackward0
	TrilBackward0
	VarBackward0
	WhereBackward0
TEXT
awk '$2 != "derivative" { if ($3 == "exact") exact[$1]; else other[$1] }
	END { for (class in exact) if (!(class in other)) print class }' "$scratch/lines" | sort >"$scratch/have"
same "$(wc -l <"$scratch/want") classes are exact" "$(comm -23 "$scratch/want" "$scratch/have" | paste -sd' ')" ""

[ -e "$node" ] || exit 0
wait $plain
same "1.13 alone: status" $? 0
captured plain
same "1.13 alone: no forward lines" "$(grep -c '\[backward\]' "$scratch/plain.folded")" 0
"$flamegrid" report "$scratch/plain" -f json >"$scratch/plain.json"
missing=_ZN5torch8autograd25get_current_graph_task_idEv
contains "1.13 alone: a notice" "$scratch/plain.json" \
	"backward work is not under its forward lines: this PyTorch does not export $missing"
same "1.13 alone: it is one" "$(grep -c 'not under its forward lines' "$scratch/plain.err")" 1
