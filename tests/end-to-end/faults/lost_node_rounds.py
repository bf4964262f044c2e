#!/usr/bin/env python3
"""Seeded rounds in which nodes of a step die, or stop, while each keeps a profile of its own (run --aggregate node).

    lost_node_rounds.py BUILD [--rounds N] [--seed S] [--parallel P] [--seconds SECONDS]

A round is a step of three to six nodes, which are names on this machine. Its seed decides what is killed or stopped
(SIGSTOP, then SIGCONT) and when: the aggregator's process, all that would start it again on its node, or a whole node.
Each rank has a process before and one after that. In each round the ranks of nodes that live have all of their
nanoseconds, no other rank has more than it was given, and `report --strict` exits with 0 if no node died, with 3 if the
profile lacks something. The job has one profile at its end, and nothing is left of the rendezvous.

Prints a line a round, with all that happened and how long the ranks took to end, and the sum. Exit status: 0 all rounds
held, 1 one did not (its files are kept)."""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
from profiled_trial import END_SECONDS, Trial, run_trials  # noqa: E402

AGGREGATOR = ('flamegrid-job', 'flamegrid-keep')
PHASES = ((1, 400), (2, 600))  # and their launches


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
    def __init__(self, build, seed, seconds):
        super().__init__(build, f'lost-nodes-{seed}')
        self.random, self.seconds = random.Random(seed), seconds
        self.nr_nodes = self.random.randint(3, 6)
        self.dead, self.happened, self.events = set(), [], []
        self.runs = {}

    # ---- what happens ------------------------------------------------------------------------------------------------

    def mark(self, node=None):
        marks = [f'SLURM_JOB_ID={self.name}']
        return marks if node is None else marks + [f'SLURM_PROCID={node}']

    def start_rank(self, rank):
        work = (f'{self.program("tests/fake_launches")} --devices 2 --streams 2 --threads 2 --kernels 3 '
                f'--launches')
        first, second = (f'FAKE_CUDA_RECORDS={self.path(f"{rank}.{phase}.records")} {work} {launches}'
                         for phase, launches in PHASES)
        environment = dict(self.environment, SLURM_JOB_ID=self.name, SLURM_STEP_ID='0', SLURM_PROCID=str(rank),
                           SLURM_STEP_NUM_TASKS=str(self.nr_nodes), SLURM_STEP_NUM_NODES=str(self.nr_nodes),
                           XDG_RUNTIME_DIR=self.path('runtime'), FAKE_CUDA_HOST_SEED=str(rank + 1))
        devices = self.path(f'devices.{rank}')
        with open(devices, 'wb') as file:
            subprocess.run([self.program('bin/fake-cuda-devices')], stdout=file, env=environment, check=True)
        with open(self.path(f'{rank}.said'), 'wb') as said:
            self.runs[rank] = subprocess.Popen(
                [self.program('bin/flamegrid'), 'run', '--aggregate', 'node', '--node-name', f'node{rank}', '--devices',
                 devices, '--spool', self.path('spool'), '--symbol-cache', 'off', '-o', self.path('prof'), '--', 'sh',
                 '-c', f'{first} >/dev/null; echo >>{self.path("up")}; read -r _ <{self.path("go")}; {second} >/dev/null'],
                stdout=subprocess.DEVNULL, stderr=said, env=environment)

    def start(self):
        for name in ('runtime', 'spool'):
            os.mkdir(self.path(name), 0o700)
        for name in ('up', 'go'):
            os.mkfifo(self.path(name))
        self.up, self.gate = (os.open(self.path(name), os.O_RDWR) for name in ('up', 'go'))
        for rank in range(self.nr_nodes):
            self.start_rank(rank)
        came = 0
        while came < self.nr_nodes:
            came += len(os.read(self.up, self.nr_nodes))

    def plan(self):
        draw = self.random
        for _ in range(draw.randint(1, 4)):
            at, what = draw.uniform(0, self.seconds), draw.choice(('job', 'aggregator', 'aggregator', 'node', 'node'))
            node = draw.randrange(self.nr_nodes) if what == 'node' else None
            if draw.random() < 0.3:
                self.events += [(at, 'stop', what, node), (at + draw.uniform(0, self.seconds), 'continue', what, node)]
            else:
                self.events.append((at, 'kill', what, node))
        self.events.sort(key=lambda event: event[0])

    def act(self, what, part, node):
        number = {'kill': signal.SIGKILL, 'stop': signal.SIGSTOP, 'continue': signal.SIGCONT}[what]
        if part == 'node':
            if what == 'kill':
                if len(self.dead) == self.nr_nodes - 1:
                    return  # the last one lives
                self.dead.add(node)
            found = processes(*self.mark(node))
            # At once, like a node: its agent must not see that its ranks are gone, and say goodbye.
            pids = found.pop('flamegrid-node', []) + sum(found.values(), [])
            if what == 'kill':
                send(pids, signal.SIGSTOP)
        else:
            found = processes(*self.mark())
            pids = sum((found[name] for name in (AGGREGATOR if part == 'aggregator' else AGGREGATOR[:1])), [])
        send(pids, number)

    def play(self):
        began = time.monotonic()
        for at, what, part, node in self.events:
            threading.Event().wait(max(0.0, at - (time.monotonic() - began)))
            self.happened.append(f'{at:.1f} {what} {part}{"" if node is None else node}')
            self.act(what, part, node)
        send(sum(processes(*self.mark()).values(), []), signal.SIGCONT)

    def end(self):
        os.write(self.gate, b'\n' * self.nr_nodes)
        began, wrong, times = time.monotonic(), [], []
        for rank in set(self.runs) - self.dead:
            status = self.runs[rank].wait(END_SECONDS)
            times.append(time.monotonic() - began)
            if status:
                wrong.append(f'rank {rank} ended with {status}')
        for rank in self.dead:
            self.runs[rank].wait(END_SECONDS)
        # Aggregators and agents end by themselves, but for those of dead nodes, which are dead.
        while processes(*self.mark()) and time.monotonic() - began < END_SECONDS:
            threading.Event().wait(0.05)
        if processes(*self.mark()):
            wrong.append(f'still there: {dict(processes(*self.mark()))}')
        os.close(self.up)
        os.close(self.gate)
        self.ended = max(times)
        return wrong

    def leave_nothing(self):
        send(sum(processes(*self.mark()).values(), []), signal.SIGKILL)
        super().leave_nothing()

    # ---- what is in the profile --------------------------------------------------------------------------------------

    def report(self, *options):
        return subprocess.run([self.program('bin/flamegrid'), 'report', self.path('prof'), *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, check=False)

    def truth(self, rank):
        sums = self.delivered(*(f'{rank}.{phase}' for phase, _ in PHASES))
        return tuple(sum(value for key, value in sums.items() if key[-1] == what) for what in ('count', 'ns'))

    def judge(self):
        made = self.report('--format', 'json', '--demangle', 'none')
        if made.returncode:
            return [f'no report: {made.stderr.decode()}'], '; '.join(self.happened)
        folded, wrong = collections.defaultdict(lambda: (0, 0)), []
        for leaf in json.loads(made.stdout)['leaves']:
            count, ns = folded[leaf['rank']]
            folded[leaf['rank']] = (count + leaf['count'], ns + leaf['ns'])
        for rank in range(self.nr_nodes):
            truth = self.truth(rank)
            if rank not in self.dead and folded[rank] != truth:
                wrong.append(f'rank {rank}: {folded[rank]} in place of {truth}')
            if rank in self.dead and any(have > given for have, given in zip(folded[rank], truth)):
                wrong.append(f'rank {rank} of a dead node: {folded[rank]}, and it was given {truth}')
        strict = self.report('--strict').returncode
        if strict != (3 if self.dead else 0):
            wrong.append(f'--strict exits with {strict}')
        parts = sum('.part-' in name for name in os.listdir(self.path('prof')))
        left = [name for name in os.listdir(self.place) if name.startswith('prof.')]
        # The next step removes the file of an aggregator that was killed last.
        if any(not parts or not name.endswith('.rendezvous') for name in left):
            wrong.append(f'left: {left}')
        spools = len(os.listdir(self.path('spool'))) - len(self.dead)
        if spools > 0:
            wrong.append(f'{spools} profiles stay on nodes that live')
        return wrong, (f'{self.nr_nodes} nodes, dead {sorted(self.dead)}, ended in {self.ended:.1f} s, {parts} parts, '
                       f'strict {strict}; {"; ".join(self.happened)}')

    def go(self):
        self.start()
        self.plan()
        self.play()
        wrong = self.end()
        more, figures = self.judge()
        return wrong + more, figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--rounds', type=int, default=200 if os.environ.get('FLAMEGRID_NIGHTLY') else 6)
    parser.add_argument('--seed', type=int, default=20261123)
    parser.add_argument('--parallel', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=9.0)
    arguments = parser.parse_args()
    rounds = [Round(arguments.build, arguments.seed + i, arguments.seconds) for i in range(arguments.rounds)]
    return run_trials(rounds, arguments.parallel)


if __name__ == '__main__':
    sys.exit(main())
