#!/usr/bin/env bash
# The nodes of a step of a real Slurm keep profiles of their own, in blocks of two with an aggregator each. Then Slurm loses
# the node of rank 0 in the middle of a step that goes on without it: the job has one profile at its end, with all of the
# other nodes. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/slurm_harness.sh"
at_end() { slurm_end; }
slurm_nodes=${FLAMEGRID_SLURM_NODES:-4} # an even number
others=$(seq 2 $((2 * slurm_nodes - 1))) # the ranks that are not on the first node
slurm_ranks
slurm_start
cd "$scratch" || exit 1
mkfifo up go
exec 8<>up 9<>go

srun -N$slurm_nodes --ntasks-per-node=2 sh profiled.sh --aggregate node --fan-in 2 -o whole -- sh rank.sh $work --launches 300 >out 2>err
same "status" $? 0
says_well "all have come" err whole
same "ns" "$(total_ns whole)" "$(truth_sum valid_ns truth.*)"
rm truth.*

srun --no-kill -N$slurm_nodes --ntasks-per-node=2 sh profiled.sh --aggregate node --fan-in 2 -o prof -- sh rank.sh sh -c \
	"FAKE_CUDA_TRUTH=\$FAKE_CUDA_TRUTH.begin $work --launches 300; echo >>up; read -r _ <go; exec $work --launches 100" \
	>out 2>err &
job=$!
for r in 0 1 $others; do read -r _ <&8; done
# The first rounds of all nodes have come.
hosts_seen() { "$flamegrid" report prof --by host 2>/dev/null | sed 's/;.*//' | sort -u | grep -c '^n[0-9]*$'; }
until [ "$(hosts_seen)" = $slurm_nodes ]; do nap; done
same "files of further blocks" "$(ls | grep -c '^prof\..*-[1-9][0-9]*\.rendezvous$')" $((slurm_nodes / 2 - 1))
same "their parts" "$(ls prof | grep -c '^profile.db.part-[0-9a-f]*$')" $((slurm_nodes / 2 - 1))

# All of the node dies: Slurm's daemon, what serves the step there, the tasks, the agent and the aggregator.
of_n1() { # the pids; other tests may have a Slurm with a node of that name
	local file
	for file in /proc/[0-9]*/environ; do
		grep -qzE "^(SLURMD_NODENAME|FLAMEGRID_TEST_NODE)=n1$" "$file" && grep -qzxF "SLURM_CONF=$SLURM_CONF" "$file" &&
			basename "${file%/environ}"
	done 2>/dev/null
}
check "n1 dies" kill -KILL $(of_n1)
until grep -q "this node starts another" err; do nap; done
ok "another node starts an aggregator"
for r in $others; do echo >&9; done
until [ -s prof/flame.html ] && [ ! -e prof/profile.open ]; do nap; done
ok "it writes the profile"
kill $job
wait $job
for r in $others; do
	rank_ns prof $r >sum
	same "rank $r: ns" "$(cat sum)" "$(truth_sum valid_ns truth.$r truth.$r.begin)"
done
for r in 0 1; do
	rank_ns prof $r >sum
	same "rank $r: ns before n1 died" "$(cat sum)" "$(truth_sum valid_ns truth.$r.begin)"
done
"$flamegrid" report prof --strict -o /dev/null 2>err.report
same "the profile is not whole" $? 3
contains "and names the node" err.report "n1 (ranks 0-1)"
same "one profile" "$(ls -d prof prof.* 2>/dev/null; ls prof | paste -sd' ')" "prof
flame.html gpu.ns.folded profile.db"
