#!/usr/bin/env python3
"""One job for each fault of tests/support/fault_proxy.py between agent and aggregator, with keys. Each profile is exact to
the nanosecond, and nothing is lost.

    faulty_network_test.py BUILD [--seed S] [FAULT...]

Exit status: 0 all held, 1 one did not (its files are kept)."""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
from fault_proxy import FAULTS, FaultProxy  # noqa: E402
from profiled_trial import END_SECONDS, Trial, free_port, run_trials  # noqa: E402

QUIET = ('none', 'slow', 'jitter')  # the others are counted
LAUNCHES = 30_000  # a thread


class FaultyNetwork(Trial):
    def __init__(self, build, fault, seed):
        super().__init__(build, f'network-{fault}')
        self.fault, self.seed = fault, seed

    def go(self):
        subprocess.run([self.program('bin/flamegrid'), 'keygen', self.path('keys')], stdout=subprocess.DEVNULL, check=True)
        port = free_port()
        aggregator = self.start_aggregator(f'tcp://127.0.0.1:{port}', '--keys', self.path('keys/aggregator.keys'))
        with FaultProxy(port, self.fault, self.seed) as proxy:
            agent = self.start_agent(f'tcp://127.0.0.1:{proxy.port}', '--keys', self.path('keys/agent.keys'))
            job = self.start_job('job', '--streams', '2', '--threads', '2', '--launches', str(LAUNCHES),
                                 FAKE_CUDA_LAUNCH_NS='20000')
            statuses = [job.wait(END_SECONDS)]
            proxy.healed = True  # the agent has ten seconds for its last frames
            statuses.append(agent.end())
            happened, connections = proxy.faults, proxy.connections
        statuses.append(aggregator.end())
        strict = self.report('--strict').returncode
        wrong = []
        if statuses != [0, 0, 0]:
            wrong.append(f'job, agent and aggregator ended with {statuses}')
        if strict != 0:
            wrong.append(f'--strict exits with {strict}')
        if self.fault not in QUIET and not happened:
            wrong.append('the fault never came')
        delivered, folded = self.delivered('job'), self.folded(self.profile())
        if delivered != folded:
            wrong.append(f'folded less delivered: {folded - delivered}, delivered less folded: {delivered - folded}')
        return wrong, f'{happened} faults, {connections} connections'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('faults', nargs='*', default=FAULTS)
    parser.add_argument('--seed', type=int, default=20261122)
    arguments = parser.parse_args()
    return run_trials([FaultyNetwork(arguments.build, fault, arguments.seed) for fault in arguments.faults], parallel=4)


if __name__ == '__main__':
    sys.exit(main())
