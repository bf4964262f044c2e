#!/usr/bin/env bash
# A site's aggregator on one host, two users' jobs on two others at once (network namespaces on a bridge), which share one file of keys with their group; by
# IPv4 and by IPv6. Needs root.
. "$(dirname "$0")/../support/harness.sh"
tag=fgs subnet=10.213.79
. "$(dirname "$0")/../support/hosts.sh"
service=54321 group=54330 # whose numbers nobody else has
export -n LD_LIBRARY_PATH
address=1
for host in hub one two; do
	ip -n "$tag-$host" -6 addr add "fd00:79::$address/64" dev eth0 nodad
	address=$((address + 1))
done
chmod 755 "$scratch"
site=$scratch/site
mkdir -p "$site/bin" "$site/lib" "$scratch"/{state,cuda}
cp "$BUILD"/bin/flamegrid{,-agent,-aggregator} "$site/bin/"
cp "$BUILD/lib/libflamegrid_inject.so" "$site/lib/"
cp "$fake_launches" "$BUILD"/lib/fake-cuda/lib*.so* "$scratch/cuda/"
chown $service "$scratch/state"
"$flamegrid" keygen "$scratch/keys" >/dev/null
chown $service "$scratch/keys/aggregator.keys"
chmod 755 "$scratch/keys"
chown 0:$group "$scratch/keys/agent.keys"
chmod 640 "$scratch/keys/agent.keys"

mkfifo "$scratch/news"
exec 7<>"$scratch/news"
log=$scratch/service.log
: >"$log"
says() { until grep -qF -- "$1" "$log"; do read -r -t 60 _ <&7 || return 1; done; }
ip netns exec "$tag-hub" setpriv --reuid $service --regid $service --clear-groups env -i PATH=/usr/bin:/bin "$site/bin/flamegrid-aggregator" --keys "$scratch/keys/aggregator.keys" \
	--listen "tcp://$subnet.1:7411" --listen 'tcp://[fd00:79::1]:7411' --store "$scratch/state/profile.db" --jobs "$scratch/state/jobs" 2> >(tee -p "$scratch/news" >>"$log") 7<&- &
aggregator=$!
daemons=$aggregator
check "the service is there" says 'listening on tcp://[fd00:79::1]:7411'

seed=1
for host in one two; do
	FAKE_CUDA_HOST_SEED=$seed FAKE_CUDA_DEVICES=2 LD_LIBRARY_PATH=$scratch/cuda "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$host"
	seed=$((seed + 1))
done
declare -A rank_pid
# rank USER JOB RANK ENDPOINT: of two, rank 0 on host one, rank 1 on host two; in the background.
rank() {
	local user=$1 job=$2 rank=$3 endpoint=$4 host=one
	[ "$rank" = 1 ] && host=two
	mkdir -p "$scratch/$user.$rank"
	chown "$user" "$scratch/$user.$rank"
	ip netns exec "$tag-$host" setpriv --reuid "$user" --regid "$user" --groups $group env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$scratch/cuda" XDG_RUNTIME_DIR="$scratch/$user.$rank" \
		PMIX_NAMESPACE="$job" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$((rank + 1)) FAKE_CUDA_DEVICES=2 \
		FAKE_CUDA_TRUTH="$scratch/$user.$rank/truth" FLAMEGRID_CONFIG="$scratch/site.conf" \
		"$site/bin/flamegrid" run --node-name "node-$host" --devices "$scratch/devices.$host" ${endpoint:+--aggregator "$endpoint"} -- \
		"$scratch/cuda/fake_launches" --devices 2 --streams 2 --threads 2 --kernels 3 --launches $((1000 * (rank + 1) + user - 54000)) >"$scratch/out.$user.$rank" 2>"$scratch/err.$user.$rank" 7<&- &
	rank_pid[$user.$rank]=$!
	daemons="$daemons $!"
}
check_job() { # USER NAME
	for r in 0 1; do
		wait "${rank_pid[$1.$r]}"
		same "$2: rank $r's status" $? 0
	done
	check "$2 is complete" says "$scratch/state/jobs/$2 is complete"
	for r in 0 1; do
		same "$2: rank $r: ns" "$(rank_ns "$scratch/state/jobs/$2" $r)" \
			"$(truth_sum valid_ns "$scratch/$1.$r/truth")"
	done
	same "$2: hosts" "$(groups "$scratch/state/jobs/$2" host)" "node-one node-two"
	check "$2: nothing lost" "$flamegrid" report "$scratch/state/jobs/$2" --strict -o /dev/null
}

# The same step of two users: a launcher's names are its own user's.
printf 'aggregator tcp://%s.1:7411\nkeys %s\n' "$subnet" "$scratch/keys/agent.keys" >"$scratch/site.conf"
for r in 0 1; do
	rank 54322 step $r ''
	rank 54323 step $r 'tcp://[fd00:79::1]:7411'
done
check_job 54322 54322-step
check_job 54323 54323-step
same "whose the profiles are" "$(stat -c %u "$scratch/state/jobs/54322-step/profile.db" "$scratch/state/jobs/54323-step/flame.html" | tr '\n' ' ')" "$service $service "

# Who is not of the group has no keys; the job runs as it would.
ip netns exec "$tag-two" setpriv --reuid 54324 --regid 54324 --clear-groups env -i PATH=/usr/bin:/bin FLAMEGRID_CONFIG="$scratch/site.conf" \
	"$site/bin/flamegrid" run -- sh -c 'exit 9' 2>"$scratch/err"
same "who has no keys: status" $? 9
contains "who has no keys" "$scratch/err" "--keys: $scratch/keys/agent.keys: Permission denied"

# No way there: nothing is held up for longer than it takes to say so.
ip -n "$tag-hub" link set eth0 down
rank 54325 dark 1 ''
wait "${rank_pid[54325.1]}"
same "no way there: status" $? 0
same "no way there: what is said" "$(cat "$scratch/err.54325.1")" "flamegrid: run: tcp://$subnet.1:7411: the aggregator cannot be reached: this node is not profiled"

kill -TERM $aggregator
wait $aggregator
same "the service's status" $? 0
