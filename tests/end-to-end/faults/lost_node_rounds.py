#!/usr/bin/env python3
"""Seeded rounds in which nodes of a step die, stop, are cut off or have bad disks, while each keeps a profile of its
own (run --aggregate node).

    lost_node_rounds.py BUILD [--rounds N] [--seed S] [--parallel P] [--nodes LOW:HIGH] [--seconds SECONDS]
                        [--lasting SECONDS] [--fan-in N] [--undisturbed]

A round is a step of LOW to HIGH nodes, which are names on this machine. Root's have a network namespace each. The
round's seed decides what happens, and when (tests/support/node_faults.py), and which nodes have a bad disk
(node_disk.py). It also decides whether the nodes are one block, or several with an aggregator each. Each rank has a process in the time of the faults and one after that, and some faults last until then.
In each round
- nodes that live have all nanoseconds of their ranks;
- no node has more than its rank was given;
- `report --strict` exits with 3 if a node lacks something or died, and the verdict names a node that lacks something,
  or counts it, or if records stayed in CUPTI, which are counted;
- else it exits with 0;
- the job has one profile at its end, and nothing is left of the rendezvous, nor on nodes that live.
A node that lives may lack something in four cases. Its agent was killed. The disk of its profile was full at the
end. It had no place for a profile, and its aggregator was lost. Or the disk of the job's profile was full at the
end: then `flamegrid merge` finds everything on the nodes.

Prints a line a round, with all that happened and how long after the ranks' commands the step ended, and the sum. Exit
status: 0 all rounds held, 1 one did not (its files are kept)."""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import node_disk  # noqa: E402
from node_disk import NodeDisk  # noqa: E402
from node_faults import FaultPlan  # noqa: E402
from node_network import NodeNetwork  # noqa: E402
from profiled_trial import END_SECONDS, Trial, run_trials  # noqa: E402

AGGREGATOR = ('flamegrid-job', 'flamegrid-keep')
PHASES = ((1, 400), (2, 600))  # and their launches
STARTING = 8                   # ranks that start at a time
NS_PER_S = 1e9
OUTPUT_BYTES = 64 << 20
# In a verdict: a node with a time. It names four nodes and counts further ones, and nobody knows a node that died
# before it spoke.
NAMED = r'node{}( \([^)]*\))? (since|at) \d|\d more nodes|\d of \d+ nodes did not join'


def processes(*marks):
    """The pids with all of these in their environment, by their names."""
    found = collections.defaultdict(list)
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:
                environment = file.read().split(b'\0')
            if all(mark.encode() in environment for mark in marks):
                with open(f'/proc/{pid}/comm') as file:
                    found[file.read().strip()].append(int(pid))
        except OSError:
            pass
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Round(Trial):
    def __init__(self, arguments, seed):
        super().__init__(arguments.build, f'lost-nodes-{seed}')
        self.random, self.seconds, self.is_root = random.Random(seed), arguments.seconds, os.geteuid() == 0
        self.nr_nodes = self.random.randint(*arguments.nodes)
        self.fan_in = arguments.fan_in or random.Random(seed).choice((2, 3, self.nr_nodes))
        plan = FaultPlan(self.random, self.nr_nodes, arguments.seconds, arguments.lasting)
        kinds = [kind for kind in node_disk.KINDS if self.is_root or kind not in node_disk.OF_ROOT]
        self.disk_kinds = ['plain'] * self.nr_nodes if arguments.undisturbed else plan.disks(kinds)
        self.output_kind = 'small' if self.is_root and not arguments.undisturbed else 'plain'
        self.faults = [] if arguments.undisturbed else plan.faults(self.disk_kinds, self.is_root)
        # Nodes that died, whose agent was killed, whose disk was full at the end, that were stopped at the end.
        self.dead, self.agentless, self.filled, self.stopped_late = set(), set(), set(), set()
        self.died_before_the_end = self.output_was_filled = False
        self.way = 'node'  # --aggregate
        self.network, self.output, self.disks, self.pipes, self.runs, self.figures = None, None, [], {}, {}, {}

    # ---- the step ----------------------------------------------------------------------------------------------------

    def mark(self, node=None):
        marks = [f'SLURM_JOB_ID={self.name}']
        return marks if node is None else marks + [f'SLURM_PROCID={node}']

    def prof(self):
        return self.path('output/prof')

    def start_rank(self, rank):
        work = (f'{self.program("tests/fake_launches")} --devices 2 --streams 2 --threads 2 --kernels 3 '
                f'--launches')
        first, second = (f'FAKE_CUDA_RECORDS={self.path(f"{rank}.{phase}.records")} {work} {launches}'
                         for phase, launches in PHASES)
        disk = self.disks[rank]
        environment = dict(self.environment, SLURM_JOB_ID=self.name, SLURM_STEP_ID='0', SLURM_PROCID=str(rank),
                           SLURM_NODEID=str(rank), SLURM_STEP_NUM_TASKS=str(self.nr_nodes), SLURM_STEP_NUM_NODES=str(self.nr_nodes),
                           XDG_RUNTIME_DIR=self.path('runtime'), FAKE_CUDA_HOST_SEED=str(rank + 1), **disk.environment)
        devices = self.path(f'devices.{rank}')
        with open(devices, 'wb') as file:
            subprocess.run([self.program('bin/fake-cuda-devices')], stdout=file, env=environment, check=True)
        with open(self.path(f'{rank}.said'), 'wb') as said:
            self.runs[rank] = subprocess.Popen(
                (self.network.command(rank) if self.network else []) +
                [self.program('bin/flamegrid'), 'run', '--aggregate', self.way] +
                (['--fan-in', str(self.fan_in)] if self.way == 'node' else []) +
                ['--node-name', f'node{rank}', '--devices', devices, '--spool', disk.path, '--symbol-cache', 'off', '-o', self.prof(),
                 '--', 'sh', '-c',
                 f'{first} >/dev/null; echo >>{self.path("up")}; read -r _ <{self.path("go")}; {second} >/dev/null; '
                 f'date +%s%N >{self.path(f"{rank}.ended")}'],
                stdout=subprocess.DEVNULL, stderr=said, env=environment)

    def start(self):
        os.mkdir(self.path('runtime'), 0o700)
        self.network = NodeNetwork(self.nr_nodes) if self.is_root else None
        self.output = NodeDisk(self.build, self.output_kind, self.path('output'), OUTPUT_BYTES)
        for node, kind in enumerate(self.disk_kinds):
            self.disks.append(NodeDisk(self.build, kind, self.path(f'spool.{node}')))
        for name in ('up', 'go'):
            os.mkfifo(self.path(name))
            self.pipes[name] = os.open(self.path(name), os.O_RDWR)
        came = 0
        for rank in range(self.nr_nodes):
            self.start_rank(rank)
            while rank + 1 - came >= STARTING:
                came += len(os.read(self.pipes['up'], self.nr_nodes))
        while came < self.nr_nodes:
            came += len(os.read(self.pipes['up'], self.nr_nodes))

    # ---- what happens ------------------------------------------------------------------------------------------------

    def find(self, fault):
        """The pids that a fault is about."""
        if fault.part in ('job', 'aggregator'):
            found = processes(*self.mark())
            return sum((found[name] for name in (AGGREGATOR if fault.part == 'aggregator' else AGGREGATOR[:1])), [])
        found = processes(*self.mark(fault.nodes[0]))
        # The agent first: it must not see that its ranks are gone, and say goodbye.
        agent = found.pop('flamegrid-node', [])
        return agent if fault.part == 'agent' else agent + sum(found.values(), [])

    def aggregators_node(self):
        for node in range(self.nr_nodes):
            if processes(*self.mark(node))['flamegrid-job']:
                return (node,)
        return ()

    def disk_of(self, fault):
        return self.disks[fault.nodes[0]] if fault.nodes else self.output

    def cut(self):
        """The network as the faults of now have it."""
        cuts = [fault for fault in self.cuts if fault.kind != 'part']
        self.network.set_cuts({node for fault in cuts for node in fault.nodes},
                              {node for fault in self.cuts if fault.kind == 'part' for node in fault.nodes})

    def kill(self, fault):
        if fault.part == 'node':
            if len(self.dead) == self.nr_nodes - 1 or fault.nodes[0] in self.dead:
                return
            self.dead.add(fault.nodes[0])
            self.died_before_the_end |= fault.at < self.seconds
            if fault.kind == 'lose':
                self.cuts.append(fault)
                self.cut()
        pids = self.find(fault)
        if fault.part == 'node':
            send(pids, signal.SIGSTOP)
        elif fault.part == 'agent' and pids:
            self.agentless.add(fault.nodes[0])
        send(pids, signal.SIGKILL)

    def begin(self, fault):
        if fault.kind in ('kill', 'lose'):
            self.kill(fault)
        elif fault.kind == 'stop':
            self.stopped[id(fault)] = self.find(fault)
            send(self.stopped[id(fault)], signal.SIGSTOP)
            if fault.part == 'node' and fault.until > self.seconds:
                self.stopped_late.update(fault.nodes)
        elif fault.kind == 'fill':
            self.disk_of(fault).fill()
            if fault.until is None or fault.until > self.seconds:
                self.filled.update(fault.nodes)
                self.output_was_filled |= not fault.nodes
        else:
            if fault.part == 'aggregator':
                fault.nodes = self.aggregators_node()
            self.cuts.append(fault)
            self.cut()

    def finish(self, fault):
        if fault.kind == 'stop':
            send(self.stopped[id(fault)], signal.SIGCONT)
        elif fault.kind == 'fill':
            self.disk_of(fault).free()
        else:
            self.cuts.remove(fault)
            self.cut()

    def play(self):
        """In a thread of its own: everything at its time, and the gate of the ranks' second processes in between."""
        self.stopped, self.cuts = {}, []
        events = [(self.seconds, lambda: os.write(self.pipes['go'], b'\n' * self.nr_nodes))]
        for fault in self.faults:
            events.append((fault.at, lambda fault=fault: self.begin(fault)))
            if fault.until is not None:
                events.append((fault.until, lambda fault=fault: self.finish(fault)))
        began = time.monotonic()
        try:
            for at, act in sorted(events, key=lambda event: event[0]):
                threading.Event().wait(max(0.0, at - (time.monotonic() - began)))
                act()
        except Exception as error:  # seen by end()
            self.broken = error

    def end(self):
        player, wrong = threading.Thread(target=self.play), []
        self.broken = None
        player.start()
        with concurrent.futures.ThreadPoolExecutor(self.nr_nodes) as pool:
            ended = dict(pool.map(self.await_rank, self.runs))
        player.join()
        if self.broken:
            raise self.broken
        wrong += [f'rank {rank} ended with {run.returncode}' for rank, run in self.runs.items()
                  if run.returncode and rank not in self.dead]
        began = time.monotonic()
        # Aggregators and agents end by themselves, but for those of dead nodes, which are dead.
        while processes(*self.mark()) and time.monotonic() - began < END_SECONDS:
            threading.Event().wait(0.2)
        if processes(*self.mark()):
            wrong.append(f'still there: {dict(processes(*self.mark()))}')
        self.measure(ended)
        return wrong

    def await_rank(self, rank):
        self.runs[rank].wait(3 * self.seconds + END_SECONDS)
        return rank, time.time_ns()

    def leads(self, rank):
        """Whether the rank waits for all others, because its node has the aggregator."""
        with open(self.path(f'{rank}.said')) as said:
            return rank == 0 or self.fan_in < self.nr_nodes or 'this node starts another' in said.read()

    def measure(self, ended):
        """How long after its command each rank ends that nothing holds up. One beside an aggregator may wait for
        others: it counts from their commands, and from the end of a rank that was stopped at the end."""
        commands = {}
        for rank in set(self.runs) - self.dead:
            with open(self.path(f'{rank}.ended')) as file:
                commands[rank] = int(file.read())
        late = {True: [0], False: [0]}
        for rank in set(commands) - self.stopped_late:
            since = [commands[rank]]
            if self.leads(rank):
                since += [end for other, end in commands.items() if other not in self.stopped_late]
                since += [ended[other] for other in self.stopped_late & set(commands) if ended[other] < ended[rank]]
            late[self.leads(rank)].append(ended[rank] - max(since))
        self.figures.update(late_s=max(late[False]) / NS_PER_S, leader_late_s=max(late[True]) / NS_PER_S)

    def leave_nothing(self):
        send(sum(processes(*self.mark()).values(), []), signal.SIGKILL)
        for disk in filter(None, [self.output, *self.disks]):
            disk.close()
        if self.network:
            self.network.close()
        for pipe in self.pipes.values():
            os.close(pipe)
        super().leave_nothing()

    # ---- what is in the profile --------------------------------------------------------------------------------------

    def flamegrid(self, *words):
        return subprocess.run([self.program('bin/flamegrid'), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment, check=False)

    def fold(self, path):
        """What a profile has of each node: (count, ns); the profile's verdict; and what its ledger counts."""
        made = self.flamegrid('report', path, '--format', 'json', '--demangle', 'none')
        if made.returncode:
            raise RuntimeError(f'no report: {made.stderr.decode()}')
        profile, nodes = json.loads(made.stdout), {node: (0, 0) for node in range(self.nr_nodes)}
        for leaf in profile['leaves']:
            node = int(leaf['host'][len('node'):])
            nodes[node] = (nodes[node][0] + leaf['count'], nodes[node][1] + leaf['ns'])
        return nodes, profile['verdict'], {entry['reason']: entry['count'] for entry in profile['ledger']}

    def truth(self, rank):
        sums = self.delivered(*(f'{rank}.{phase}' for phase, _ in PHASES))
        return tuple(sum(value for key, value in sums.items() if key[-1] == what) for what in ('count', 'ns'))

    def compare(self, nodes, may_lack):
        """What is wrong, and which nodes lack something."""
        lacks = {node for node in nodes if nodes[node] != self.truth(node)}
        wrong = [f'node{node}: {nodes[node]} in place of {self.truth(node)}' for node in sorted(lacks)
                 if node not in may_lack or any(have > given for have, given in zip(nodes[node], self.truth(node)))]
        return wrong, lacks

    def judge(self):
        """The profile, and then the profile with all that stays on nodes."""
        homeless = {node for node, kind in enumerate(self.disk_kinds) if kind in ('missing', 'read-only')}
        excused = self.dead | self.agentless | self.filled | (homeless if self.faults else set())
        may_lack = set(range(self.nr_nodes)) if self.output_was_filled else excused
        nodes, verdict, counts = self.fold(self.prof())
        wrong, lacks = self.compare(nodes, may_lack)
        wrong += [f'node{node} lacks something and is not named: {verdict}' for node in lacks
                  if not re.search(NAMED.format(node), verdict)]
        strict = self.flamegrid('report', self.prof(), '--strict').returncode
        # On a busy machine CUPTI may keep records until a process's two seconds are over: they are counted.
        undelivered = counts.get('launch_undelivered')
        if strict not in ({3} if lacks or self.died_before_the_end or undelivered else {0, 3} if may_lack else {0}):
            wrong.append(f'--strict exits with {strict}: {verdict}')
        self.figures.update(lacks=sorted(lacks), undelivered=undelivered or 0, strict=strict)
        wrong += self.left_behind()
        stay = [os.path.join(disk.path, name) for disk in self.disks for name in disk.profiles()]
        if stay:
            self.output.free()
            made = self.flamegrid('merge', self.prof(), *stay, '-o', self.path('all'))
            if made.returncode:
                return wrong + [f'merge: {made.stderr.decode()}']
            wrong += self.compare(self.fold(self.path('all'))[0], excused)[0]
        return wrong

    def left_behind(self):
        wrong = []
        parts = sum('.part-' in name for name in os.listdir(self.prof()))
        left = [name for name in os.listdir(self.output.path) if name.startswith('prof.')]
        # The next step removes the files and claims of aggregators that were killed last: none has made reports.
        has_reports = os.path.exists(os.path.join(self.prof(), 'flame.html'))
        if any(has_reports or '.rendezvous' not in name for name in left):
            wrong.append(f'left: {left}')
        may_stay = self.dead | self.agentless | self.filled
        stay = [node for node, disk in enumerate(self.disks) if disk.profiles() and node not in may_stay]
        if stay and not self.output_was_filled:
            wrong.append(f'profiles stay on nodes {stay}, which live')
        self.figures['parts'] = parts
        return wrong

    def line(self):
        disks = ', '.join(f'{kind} disk {node}' for node, kind in enumerate(self.disk_kinds) if kind != 'plain')
        told = '{nr_nodes} nodes, {fan_in} a block, dead {dead}, lacking {lacks}, undelivered {undelivered}, late {late_s:.2f} s, ' \
               'leaders {leader_late_s:.2f} s, {parts} parts, strict {strict}; '
        return (told.format(nr_nodes=self.nr_nodes, fan_in=self.fan_in, dead=sorted(self.dead), **self.figures) +
                '; '.join(filter(None, [disks, *map(str, self.faults)])))

    def go(self):
        self.start()
        wrong = self.end()
        wrong += self.judge()
        return wrong, self.line()


def print_sum(rounds):
    """The figures of all rounds."""
    seen = collections.Counter(kind for each in rounds for kind in {
        *(f'{fault.kind} {fault.part}'.strip() for fault in each.faults),
        *(f'{kind} disk' for kind in each.disk_kinds if kind != 'plain')})
    print('rounds with: ' + ', '.join(f'{kind} {count}' for kind, count in sorted(seen.items())))
    for name, whose in (('late_s', 'a rank'), ('leader_late_s', 'a rank beside an aggregator')):
        late = [each.figures[name] for each in rounds if name in each.figures]
        if late:
            print(f'from the command to the end of {whose}: median {statistics.median(late):.2f} s, '
                  f'longest {max(late):.2f} s')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--rounds', type=int, default=200 if os.environ.get('FLAMEGRID_NIGHTLY') else 20)
    parser.add_argument('--seed', type=int, default=20261123)
    parser.add_argument('--parallel', type=int, default=7)
    parser.add_argument('--nodes', default='3:6')
    parser.add_argument('--seconds', type=float, default=5.0)
    parser.add_argument('--lasting', type=float)
    parser.add_argument('--fan-in', type=int)
    parser.add_argument('--undisturbed', action='store_true')
    arguments = parser.parse_args()
    arguments.nodes = tuple(map(int, arguments.nodes.split(':')))
    if os.geteuid() == 0:
        node_disk.own_mounts()
    rounds = [Round(arguments, arguments.seed + i) for i in range(arguments.rounds)]
    status = run_trials(rounds, arguments.parallel)
    print_sum(rounds)
    return status


if __name__ == '__main__':
    sys.exit(main())
