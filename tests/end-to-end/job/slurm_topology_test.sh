#!/usr/bin/env bash
# A late switch, which a real Slurm with a topology names: torchrun-like tasks of two ranks on each of four nodes. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/slurm_harness.sh"
at_end() { slurm_end; }
slurm_ranks
mkdir -p "$slurm"
printf 'SwitchName=s0 Nodes=n1,n4\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=top Switches=s[0-1]\n' >"$slurm/topology.conf"
slurm_lines=TopologyPlugin=topology/tree
slurm_start
cd "$scratch" || exit 1

# Kernels last a little longer on each further node: otherwise two ranks would always be last.
cat >task.sh <<TEXT
node=\$((\${SLURMD_NODENAME#n} - 1))
export FAKE_CUDA_HOST_SEED=\${SLURMD_NODENAME#n} LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
printf '%s %s\n' "\$SLURM_TOPOLOGY_ADDR" "\$SLURM_TOPOLOGY_ADDR_PATTERN" >address.\$SLURMD_NODENAME
exec sh profiled.sh -o job -- "$BUILD/tests/fake_ranks" --ranks 8 --here \$((node * 2)):2 --job "$scratch/job" --ahead --steps 240 \
	--gpu 50-\$((50 + 7 * node)) --late-gpu 2-5:8000
TEXT
srun -N4 --ntasks-per-node=1 sh task.sh >out 2>err
same "status" $? 0
same "Slurm tells the switches" "$(cat address.n[1-4] | paste -sd,)" \
	"top.s0.n1 switch.switch.node,top.s1.n2 switch.switch.node,top.s1.n3 switch.switch.node,top.s0.n4 switch.switch.node"
"$flamegrid" report job --straggler -f json >report.json
same "who is late" "$(python3 -c 'import json; print([(g["kind"], g["name"], g["ranks"]) for g in json.load(open("report.json"))["groups"]])')" \
	"[('switch', 'switch s1, 2 hosts', [2, 3, 4, 5])]"
same "on which nodes" "$(python3 -c 'import json; print(sorted({k["host"] for k in json.load(open("report.json"))["ranks"] if k["rank"] in range(2, 6)}))')" "['n2', 'n3']"
contains "said" <("$flamegrid" report job --straggler) "late: switch s1, 2 hosts (4 ranks: 2-5; without it up to "
same "the file that Slurm reads says the same" "$("$flamegrid" report job --straggler -f json --topology "$slurm/topology.conf" | cmp - report.json && echo equal)" equal
