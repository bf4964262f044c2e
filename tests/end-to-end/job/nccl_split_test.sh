#!/usr/bin/env bash
# NCCL's time as waiting for ranks and moving data: jobs of several ranks on fake NCCL, beside what its GPUs' single records say, to
# the nanosecond.
. "$(dirname "$0")/../support/harness.sh"
ranks=$BUILD/tests/fake_ranks
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
list=$(devices 4)

# job NAME TRANSFER-NS RANKS-OPTION...: four ranks, each with a file of its GPU's records.
job() {
	local name=$1 transfer=$2
	shift 2
	FAKE_NCCL_TRANSFER_NS=$transfer FAKE_CUDA_RECORDS=$scratch/$name.records.%p "$flamegrid" run -q --devices "$list" -o "$scratch/$name" -- \
		"$ranks" --ranks 4 "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	reports_of "$name"
}
reports_of() {
	local name=$1
	"$flamegrid" report "$scratch/$name" --strict --by rank -u ns -o "$scratch/$name.folded" 2>/dev/null || not_ok "$name: nothing lost"
	"$flamegrid" report "$scratch/$name" --by rank -u ns --nccl whole -o "$scratch/$name.whole" 2>/dev/null
	"$flamegrid" report "$scratch/$name" --by rank -w count -o "$scratch/$name.count" 2>/dev/null
	"$flamegrid" report "$scratch/$name" --ranks -f csv -o "$scratch/$name.csv"
	"$flamegrid" report "$scratch/$name" -f csv --rows collectives >"$scratch/$name.calls"
}

cat >"$scratch/check.py" <<'END'
"""check.py NAME: expressions on stdin, one a line, with what is in the report and in the truth of a job."""
import collections, csv, re, sys
name = sys.argv[1]

def lines(file):
    for line in open(f"{name}.{file}"):
        frames, _, weight = line.rstrip("\n").rpartition(" ")
        yield frames.split(";"), int(weight)

def nccl_sums(file):
    sums = collections.Counter()
    for frames, weight in lines(file):
        if "ncclDevKernel" in frames[-1]:
            sums[frames[0], frames[-1]] += weight
    return sums

def parts(only=""):
    """{rank: {part: ns}} of kernels, of those under a function alone."""
    found = collections.defaultdict(collections.Counter)
    for frames, weight in lines("folded"):
        if "ncclDevKernel" in frames[-1] and (not only or only in frames):
            found[int(re.sub(r"\D", "", frames[0]))][frames[-2].strip("[]")] += weight
    return found

def truth(functions=("all_reduce", "all_gather", "reduce_scatter")):
    """The same of collectives, by the kernels of single calls. Calls of one kernel count once."""
    calls = collections.defaultdict(dict)
    for row in csv.DictReader(open(f"{name}.calls")):
        if row["function"] in functions and row["gpu_ns"] and row["sequence"] != "0":
            calls[row["communicator"], row["function"], int(row["function_sequence"])][int(row["rank"])] = (
                int(row["gpu_ns"]), int(row["ranks"]), (row["pid"], row["correlation_id"]))
    found, seen = collections.defaultdict(collections.Counter), set()
    for call in calls.values():
        if len(call) < 2 or any(len(call) != ranks or kernel in seen for _, ranks, kernel in call.values()):
            continue
        split(found, [(rank, ns) for rank, (ns, _, _) in call.items()])
        seen.update(kernel for _, _, kernel in call.values())
    return found

def split(found, call):
    """Adds what the kernels of one collective, (rank, ns), are."""
    least = min(ns for _, ns in call)
    last = [rank for rank, ns in call if ns == least]
    for rank, ns in call:
        found[rank]["moves data"] += least
        if ns > least:
            found[rank]["waits for rank %d" % last[0] if len(last) == 1 else "waits for several ranks"] += ns - least

def records():
    """The same of a job of all_reduces alone: the n-th kernel of each process is of the n-th."""
    found, kernels = collections.defaultdict(collections.Counter), []
    for row in csv_rows():
        rows = [line.split("\t") for line in open(f"{name}.records.{row['pid']}")]
        times = sorted((int(start), int(end)) for _, _, kernel, start, end in rows if "ncclDevKernel" in kernel)
        kernels.append([(row["rank"], end - start) for start, end in times])
    for call in zip(*kernels, strict=True):
        split(found, call)
    return found

def collective_parts(rank):
    """The rank's parts of kernels that are split, but for those of sends and receives."""
    sums = parts()[rank] - parts("pncclAlltoAll")[rank] - parts("rank_exchange")[rank]
    del sums["not split"]
    return sums

def csv_rows():
    return [{k: int(v) if re.fullmatch(r"-?\d+", v or "") else v for k, v in row.items()}
            for row in csv.DictReader(open(f"{name}.csv"))]

def waits(found, rank, of):
    return found[rank]["waits for rank %d" % of]

for expression in sys.stdin:
    what, _, expression = expression.strip().partition(": ")
    value = eval(expression)
    print("%s%s" % (what, "" if value is True else ": %s" % (value,)))
END
# hold NAME: each line of stdin, "what: expression", is true.
hold() {
	local line
	python3 "$scratch/check.py" "$scratch/$1" >"$scratch/held" || not_ok "$1: the check"
	while read -r line; do
		case $line in *:*) not_ok "$1: $line" ;; *) ok "$1: $line" ;; esac
	done <"$scratch/held"
}
always() {
	hold "$1" <<'END'
the two parts sum to the kernels' time, by rank and kernel: nccl_sums("folded") == nccl_sums("whole")
counts are of what moves, and of what is not split: not any("waits" in frames[-2] for frames, _ in lines("count"))
all lines sum to the same: sum(w for _, w in lines("folded")) == sum(w for _, w in lines("whole"))
--ranks has the same sums: [(r["nccl_waits_ns"], r["nccl_moves_ns"]) for r in csv_rows()] == [(sum(v for k, v in parts()[r["rank"]].items() if "waits" in k), parts()[r["rank"]]["moves data"]) for r in csv_rows()]
END
}

# ---- a rank that is late on the GPU, in each step by as much. The hosts run ahead, so that what holds them up makes nobody late.
job late 20000 --ahead --steps 40 --late-gpu 2:20050
always late
hold late <<'END'
parts are those of the single records: parts() == records()
nothing is left over: not any(sums["not split"] for sums in parts().values())
planted lateness is waiting for the late rank, within 2 %: all(abs(waits(parts(), rank, 2) - 40 * 20000000) < 0.02 * 40 * 20000000 for rank in (0, 1, 3))
the late rank waits for others only as they start: sum(v for k, v in parts()[2].items() if "waits" in k) < 0.1 * waits(parts(), 0, 2)
END
valid_report "$scratch/late" --ranks

# ---- all-reduces alone: 4,000 bytes of four ranks, of which the bus has 6,000, in 5 ms.
job loop 5000000 --ahead --steps 200
always loop
hold loop <<'END'
parts are those of the single records: parts() == records()
each rank moves data, as long as the transfers take: [parts()[rank]["moves data"] for rank in range(4)] == 4 * [200 * 5000000]
only moving, but for the start: all(sum(v for k, v in sums.items() if k != "moves data") < 0.05 * sums["moves data"] for sums in parts().values())
bandwidth while it moves: [(r["nccl_bus_bytes"] * 1000000000 // r["nccl_moves_ns"]) for r in csv_rows()] == 4 * [1200000]
END

# ---- all kinds of calls. A kernel of a group is split once; rooted calls and graphs are not.
job mix 20000 --steps 20 --mix --late-host 1:500
always mix
hold mix <<'END'
of all_reduce, all_gather and reduce_scatter, parts are those of single calls: all(collective_parts(rank) == truth()[rank] for rank in range(4))
rooted calls are not split: all(set(parts(f)[rank]) == {"not split"} for f in ("pncclBroadcast", "pncclReduce") for rank in range(4))
nor graphs: all(set(parts("rank_capture")[rank]) == {"not split"} for rank in range(4))
a ring of four is, as exactly as begins are told apart (COLLECTIVE_FOLDS_CLOCK_NS): all(abs(sums["moves data"] - 20000) < 10000 and not sums["not split"] for sums in parts("rank_exchange").values())
those of a ring that wait for nobody move data as long as the transfers take: min(sums["moves data"] for sums in parts("rank_exchange").values()) < 21000
sends and receives among all are: all(sums["moves data"] == 20000 and not sums["not split"] for sums in parts("pncclAlltoAll").values())
END

# ---- two nodes, each of which folds what it records: only their profiles together know all ranks
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node() { # NODE
	FAKE_CUDA_HOST_SEED=$(($1 + 1)) FAKE_CUDA_DEVICES=2 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.node$1"
	env PMIX_NAMESPACE=step OMPI_COMM_WORLD_RANK="$1" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$(($1 + 1)) \
		FAKE_NCCL_TRANSFER_NS=20000 FAKE_CUDA_RECORDS="$scratch/nodes.records.%p" "$flamegrid" run --aggregate node --node-name "node$1" \
		--devices "$scratch/devices.node$1" -o "$scratch/nodes" -- env -u PMIX_NAMESPACE -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE \
		"$ranks" --ranks 4 --here $(($1 * 2)):2 --job "$scratch" --ahead --steps 30 --late-gpu 3:5050 >"$scratch/nodes.out.$1" 2>&1
}
node 0 &
first=$!
node 1
same "nodes: status of the second" $? 0
wait $first
same "nodes: status of the first" $? 0
reports_of nodes
always nodes
hold nodes <<'END'
parts are those of the single records: parts() == records()
END
same "nodes: names of communicators" "$("$flamegrid" report "$scratch/nodes" --straggler -f csv | cut -d, -f25 | uniq | tr '\n' ',')" \
	"name,all ranks,"

# ---- two ranks: a ring is a pair
FAKE_NCCL_TRANSFER_NS=20000 "$flamegrid" run -q --devices "$list" -o "$scratch/pair" -- "$ranks" --ranks 2 --steps 1 --mix >"$scratch/pair.out" 2>&1
same "pair: status" $? 0
"$flamegrid" report "$scratch/pair" -u ns 2>/dev/null | grep ';rank_exchange;' >"$scratch/pair.exchange"
same "pair: kernels of both ranks move data" "$(grep -c '\[moves data\];\[GPU[01]_Kernel\].* 20000$' "$scratch/pair.exchange")" 2
same "pair: nothing else is not split" "$(grep -c '\[not split\]' "$scratch/pair.exchange")" 0

# ---- ranks that are threads of one process wait for its GPUs
FAKE_CUDA_DEVICES=2 "$flamegrid" run -q --devices "$list" -o "$scratch/threads" -- "$ranks" --ranks 2 --threads --ahead --steps 20 >"$scratch/threads.out" 2>&1
same "threads: status" $? 0
check "threads: one waits for the other's GPU" grep -qE '\[waits for GPU [01]\];\[GPU[01]_Kernel\]' <("$flamegrid" report "$scratch/threads" 2>/dev/null)

# ---- without calls there is nothing to say
"$flamegrid" run -q --collectives off --devices "$list" -o "$scratch/off" -- "$ranks" --ranks 2 --steps 5 >"$scratch/off.out" 2>&1
same "off: frames that split" "$("$flamegrid" report "$scratch/off" 2>/dev/null | grep -cE '\[(waits for|moves data|not split)')" 0
same "off: waits, moves and bandwidth" "$("$flamegrid" report "$scratch/off" --ranks 2>/dev/null | grep -cE ' - +- +- +0\.00% ')" 2
