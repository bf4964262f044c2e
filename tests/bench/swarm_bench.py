#!/usr/bin/env python3
"""What an aggregator costs as nodes become more: a row for each case, as a Markdown table.

    swarm_bench.py BUILD [--against BUILD]... [--seconds S] [--rounds N] [--in DIR] [--options "..."] [CASE...]

A case is a number of nodes of 8 GPUs that make 125 launches a second and GPU: 30 paced by the clock, u30 as fast as the
aggregator takes them, 8xu10 eight jobs of a site with ten such nodes each. Each round runs each case with each build's aggregator in turn; nodes are always BUILD's. CPU
seconds are the whole aggregator's, from the first event to the last acknowledgement.

Asserts nothing of time. Exit status: 0 each profile has what the nodes told, to the nanosecond; 1 one has not."""
import argparse
import os
import shlex
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from swarm_trial import SwarmTrial  # noqa: E402

CASES = ('10', '30', '80', '100', 'u10', 'u100', 'u300', 'u1000')
COLUMNS = (('nodes', 8), ('build', 12), ('M events', 9), ('CPU s/M', 8), ('events/s of a core', 19), ('ack p50, p99 ms', 18),
           ('windows full', 12), ('RSS MB', 7), ('written MB', 11), ('store MB', 9), ('exact', 6))
PATIENCE_SECONDS = 900


def row(cells):
    return '| ' + ' | '.join(f'{cell:>{width}}' for cell, (_, width) in zip(cells, COLUMNS)) + ' |'


def worst(said, name):
    return max(one[name] for one in said)


class Case(SwarmTrial):
    def __init__(self, build, aggregator_build, case, options):
        super().__init__(build, f'bench-{case}')
        self.aggregator_build, self.case, self.options = aggregator_build, case, options

    def program(self, name):
        return os.path.abspath(os.path.join(self.aggregator_build if name == 'bin/flamegrid-aggregator' else self.build, name))

    def go(self):
        aggregator, endpoint = self.start_listening()
        paced = ('--unpaced',) if self.case.startswith('u') else ()
        said = self.swarm(endpoint, '--agents', self.case.lstrip('u'), *paced, *self.options, seconds=PATIENCE_SECONDS)
        aggregator.end()
        wrong, speaks = self.untrue(), said['speaks']
        cells = (self.case, self.aggregator_build, f"{said['events'] / 1e6:.3f}",
                 f"{said['cpu_s_per_million']:.2f}", f"{said['events_per_cpu_s']:,}",
                 f"{said['ack_p50_ms']:.0f}, {said['ack_p99_ms']:.0f}", said['waits'], f"{speaks['peak_rss_mb']:.0f}",
                 f"{speaks['written_mb']:.0f}", f"{os.path.getsize(self.path('profile.db')) / 1e6:.0f}",
                 'no' if wrong else 'yes')
        return wrong, row(cells)


class JobsCase(Case):
    """The CPU time and the wall time are those of the job that takes longest."""

    def go(self):
        count, nodes = self.case.split('x')
        paced = ('--unpaced',) if nodes.startswith('u') else ()
        aggregator, endpoint = self.start_listening('--jobs', self.path('jobs'))
        names = [str(number) for number in range(1, int(count) + 1)]
        swarms = [self.start_swarm(endpoint, '--agents', nodes.lstrip('u'), '--job', name, '--seed', name, *paced,
                                   *self.options, truth='truth.' + name) for name in names]
        said = [self.end_swarm(swarm, PATIENCE_SECONDS) for swarm in swarms]
        aggregator.end()
        stores = [f'jobs/swarm-{name}/profile.db' for name in names]
        wrong = [line for name, store in zip(names, stores) for line in self.untrue('truth.' + name, store)]
        events, speaks = sum(one['events'] for one in said), [one['speaks'] for one in said]
        cpu_s, wall_s = worst(speaks, 'cpu_s'), worst(speaks, 'wall_s')
        cells = (self.case, self.aggregator_build, f'{events / 1e6:.3f}', f'{cpu_s / events * 1e6:.2f}',
                 f'{events / cpu_s:,.0f}, {events / wall_s:,.0f} all',
                 f"{worst(said, 'ack_p50_ms'):.0f}, {worst(said, 'ack_p99_ms'):.0f}", sum(one['waits'] for one in said),
                 f"{worst(speaks, 'peak_rss_mb'):.0f}", f"{worst(speaks, 'written_mb'):.0f}",
                 f'{sum(os.path.getsize(self.path(store)) for store in stores) / 1e6:.0f}', 'no' if wrong else 'yes')
        return wrong, row(cells)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('cases', nargs='*', default=CASES)
    parser.add_argument('--against', action='append', default=[])
    parser.add_argument('--seconds', default='4')
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--in', dest='place')
    parser.add_argument('--options', type=shlex.split, default=[])
    arguments = parser.parse_intermixed_args()
    tempfile.tempdir = arguments.place
    print(row([name for name, _ in COLUMNS]), row(['-' * width for _, width in COLUMNS]), sep='\n', flush=True)
    failed = False
    for case in arguments.cases * arguments.rounds:
        for build in [arguments.build] + arguments.against:
            kind = JobsCase if 'x' in case else Case
            wrong, cells = kind(arguments.build, build, case, ['--seconds', arguments.seconds] + arguments.options).outcome()
            print(cells, *wrong, sep='\n    ', flush=True)
            failed = failed or bool(wrong)
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
