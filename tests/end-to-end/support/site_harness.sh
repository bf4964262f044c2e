# For tests of a site's aggregator: two nodes, which are names, keys, the service, and ranks of jobs. Behind harness.sh.
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
export FLAMEGRID_CONFIG=$scratch/empty.conf
: >"$FLAMEGRID_CONFIG"
cd "$scratch" || exit 1 # nothing may be written into it
node_devices 2 0 1
export FAKE_CUDA_DEVICES=2
declare -A rank_pid
service=''
silent=''
at_end() { kill -9 $service $silent ${rank_pid[*]} 2>/dev/null; }
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"

"$flamegrid" keygen "$scratch/keys" >/dev/null
"$flamegrid" keygen "$scratch/others" >/dev/null
# What the service says goes to its log and then, line by line, to descriptor 7.
mkfifo "$scratch/news"
exec 7<>"$scratch/news"
log=$scratch/service.log
says() { until grep -qF -- "$1" "$log"; do read -r -t 60 _ <&7 || return 1; done; }
take_ports
port=$ports at=tcp://127.0.0.1:$ports
start_service() { # OPTION...
	: >"$log"
	"$flamegrid" aggregate --keys "$scratch/keys/aggregator.keys" --listen "$at" --store "$scratch/own.db" --jobs "$scratch/jobs" "$@" 2> >(tee -p "$scratch/news" >>"$log") 7<&- &
	service=$!
	check "the service is there" says "listening on $at"
}
end_service() {
	kill -TERM $service
	wait $service
	same "the service's status" $? 0
	service=
}
site=(--aggregator "$at" --keys "$scratch/keys/agent.keys")
# A rank waits two seconds for the aggregator's word. On a busy machine the word may come later: then the rank says so,
# and the profile gets all.
late='has not confirmed all of what was recorded here'
no_answer='the aggregator has not answered yet'
no_place="the profile is with the aggregator at $at, which has not said where"
# says_place WHAT PLACE FILE...: a node's ranks say where the profile is, or that they have not heard in time.
says_place() { check "$1" grep -qF -e ":$2" -e "$late" -e "$no_answer" -e "$no_place" "${@:3}"; }
# The profile of the last job that began, which is a process alone: its name is made of host, pid and a number.
last_alone() { sed -n 's/^flamegrid-aggregator: \(.*\.[0-9]*\.[0-9a-f]*\) begins$/\1/p' "$log" | tail -n 1; }

# rank JOB RANK SIZE NODE OPTION... -- COMMAND...: in the background.
rank() {
	local job=$1 rank=$2 size=$3 node=$4
	shift 4
	env PMIX_NAMESPACE="$job" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE="$size" OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$((node + 1)) \
		FAKE_CUDA_TRUTH="$scratch/$job.truth.$rank" \
		"$flamegrid" run --node-name "node$node" --devices "$scratch/devices.$node" "$@" >"$scratch/$job.out.$rank" 2>"$scratch/$job.err.$rank" 7<&- &
	rank_pid[$job.$rank]=$!
}
await() { # JOB RANK STATUS
	wait "${rank_pid[$1.$2]}"
	same "$1: rank $2's status" $? "$3"
	unset "rank_pid[$1.$2]"
}
user=$(id -un)
# A job whose ranks wait in their middle: await_up RANKS until they do, let_go RANKS.
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"
held="$work --launches 500; echo >>$scratch/up; read -r _ <$scratch/go; FAKE_CUDA_TRUTH=\$FAKE_CUDA_TRUTH.2 exec $work --launches 900"
await_up() { for _ in $(seq "$1"); do read -r -t 60 _ <&8; done; }
let_go() { for _ in $(seq "$1"); do echo >&9; done; }
mkfifo "$scratch/nothing"
# until_so COMMAND...: asks ten times a second, for half a minute.
until_so() {
	for _ in $(seq 300); do
		"$@" && return 0
		read -r -t 0.1 _ <>"$scratch/nothing"
	done
	return 1
}
