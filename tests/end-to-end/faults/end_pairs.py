#!/usr/bin/env python3
"""How long the end of a job is held up where two faults meet. Needs root.

    end_pairs.py BUILD [--aggregate node|central] [--parallel P] [--only FAULT+FAULT,FAULT,...]

Each round is a step of three nodes, as in lost_node_rounds.py. Its one or two faults begin while the ranks wait in their
middle, 0.2 s before they go on to their end, and last until long after it. Bad disks are bad from the beginning.
Prints a list: for each pair the time from the last command of a rank that is not held up to the end of its
`flamegrid run`, the longest of all ranks. With --aggregate node it asserts what lost_node_rounds.py asserts of a
profile; otherwise that no node has more than its truth. It asserts no time.

Exit status: 0 all rounds held, 1 one did not (its files are kept)."""
import argparse
import itertools
import sys

from lost_node_rounds import Round
from node_faults import Fault  # noqa: E402
import node_disk  # noqa: E402
from profiled_trial import run_trials  # noqa: E402

NODES, SECONDS = 3, 3.0
AT, UNTIL = SECONDS - 0.2, SECONDS + 7.0


def fault(kind, part, *nodes):
    """The arguments of a Fault: faults that kill are for good."""
    return AT, kind, part, nodes, None if kind in ('kill', 'lose') else UNTIL


# What happens, and the disks of nodes that are bad. Node 0 has the aggregator, and `output` is the disk of its profile.
FAULTS = {
    'aggregator killed': (fault('kill', 'job'), {}),
    'and its keeper': (fault('kill', 'aggregator'), {}),
    'aggregator stopped': (fault('stop', 'aggregator'), {}),
    'node 0 cut off': (fault('cut', 'node', 0), {}),
    'node 0 killed': (fault('kill', 'node', 0), {}),
    'agent 0 stopped': (fault('stop', 'agent', 0), {}),
    'agent 1 killed': (fault('kill', 'agent', 1), {}),
    'agent 1 stopped': (fault('stop', 'agent', 1), {}),
    'node 2 stopped': (fault('stop', 'node', 2), {}),
    'node 2 cut off': (fault('cut', 'node', 2), {}),
    'node 2 lost': (fault('lose', 'node', 2), {}),
    'output full': (fault('fill', 'output'), {}),
    'disk 0 slow': (None, {0: 'slow'}),
    'spool 1 full': (fault('fill', 'node', 1), {1: 'small'}),
    'spool 1 read-only': (None, {1: 'read-only'}),
    'spool 1 slow': (None, {1: 'slow'}),
}


class Pair(Round):
    def __init__(self, arguments, names):
        super().__init__(arguments, 0)
        self.name, self.names, self.way = 'end-' + '+'.join(names).replace(' ', '-'), names, arguments.aggregate
        self.output_kind = 'small'
        for name in names:
            happens, disks = FAULTS[name]
            self.faults += [Fault(*happens)] if happens else []
            for node, kind in disks.items():
                self.disk_kinds[node] = kind

    def judge(self):
        if self.way == 'node':
            return super().judge()
        try:
            return self.compare(self.fold(self.prof())[0], set(range(NODES)))[0]
        except RuntimeError:  # nothing was stored
            return []

    def line(self):
        return '{late_s:.2f} s, beside the aggregator {leader_late_s:.2f} s'.format(**self.figures)


def all_pairs():
    pairs = [(), *((name,) for name in FAULTS)]
    for pair in itertools.combinations(FAULTS, 2):
        first, second = (FAULTS[name][1] for name in pair)
        if not set(first) & set(second):  # a disk is bad in one way
            pairs.append(pair)
    return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--aggregate', default='node')
    parser.add_argument('--parallel', type=int, default=3)
    parser.add_argument('--only')
    arguments = parser.parse_args()
    arguments.nodes, arguments.seconds, arguments.lasting, arguments.undisturbed = (NODES, NODES), SECONDS, None, True
    node_disk.own_mounts()
    pairs = [tuple(filter(None, pair.split('+'))) for pair in arguments.only.split(',')] if arguments.only else all_pairs()
    rounds = [Pair(arguments, pair) for pair in pairs]
    status = run_trials(rounds, arguments.parallel)
    late = sorted(((max(each.figures['late_s'], each.figures['leader_late_s']), ' + '.join(each.names) or 'none')
                   for each in rounds if 'late_s' in each.figures), reverse=True)
    for seconds, names in late:
        print(f'{seconds:5.2f}  {names}')
    print(f'{len(late)} rounds, {sum(seconds > 2 for seconds, _ in late)} above 2 s')
    return status


if __name__ == '__main__':
    sys.exit(main())
