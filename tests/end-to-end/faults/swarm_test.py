#!/usr/bin/env python3
"""Eight simulated nodes (tests/bench/swarm) against one aggregator. Each GPU's records and nanoseconds in the profile are
those that its node told of.

    swarm_test.py BUILD [--seed S] [TRIAL...]

Trials:
    deaths     one node dies, another one has a slow link; all have the keys of a rendezvous
    breaks     connections with keys are reset, closed, or silent for ever
    flips      bits of connections with keys flip: CURVE notices each
    unchecked  bits of one connection without keys flip, which nobody may notice: all other nodes are unharmed

Exit status: 0 all held, 1 one did not (its files are kept)."""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
from fault_proxy import FaultProxy  # noqa: E402
from profiled_trial import run_trials  # noqa: E402
from swarm_trial import SwarmTrial  # noqa: E402

AGENTS = 8
SHAPE = ('--agents', str(AGENTS), '--processes', '2', '--gpus', '2', '--keys', '300', '--samples', '20')


def private(path, flags):
    return os.open(path, flags, 0o600)


def through(proxy, *nodes):
    """Options by which these nodes connect to the proxy."""
    return [word for node in nodes for word in ('--via', f'{node}@tcp://127.0.0.1:{proxy.port}')]


class Swarm(SwarmTrial):
    def __init__(self, build, name, seed):
        super().__init__(build, f'swarm-{name}')
        self.seed = seed

    def start_with_keys(self):
        subprocess.run([self.program('bin/flamegrid'), 'keygen', self.path('keys')], stdout=subprocess.DEVNULL, check=True)
        aggregator, endpoint = self.start_listening('--keys', self.path('keys/aggregator.keys'))
        return aggregator, endpoint, ('--key-file', self.path('keys/agent.keys'))

    def untrue_whole(self, said):
        """What is wrong in a profile to which all nodes have said goodbye."""
        totals, wrong = self.profile()['totals'], self.untrue()
        if said['left'] != AGENTS:
            wrong.append(f'only {said["left"]} nodes said goodbye: {said["complaints"]}')
        if (totals['kernels'], totals['matched'], totals['launches']) != (said['records'], said['records'], said['launches']):
            wrong.append(f'the profile has {totals}, the swarm told {said}')
        strict = self.report('--strict').returncode
        if strict != 0:
            wrong.append(f'--strict exits with {strict}')
        return wrong


class Deaths(Swarm):
    def go(self):
        aggregator, endpoint, _ = self.start_with_keys()
        with open(self.path('keys/agent.keys')) as keys, open(self.path('rendezvous'), 'x', opener=private) as file:
            file.write(f'endpoint {endpoint}\n{keys.read()}')
        with FaultProxy(self.port, 'slow', self.seed) as proxy:
            said = self.swarm(endpoint, '--rendezvous', self.path('rendezvous'), *SHAPE, '--seconds', '1', '--kill',
                              '2@0.6', *through(proxy, 5))
            connections = proxy.connections
        ended = aggregator.end()
        profile, wrong = self.profile(), self.untrue()
        if (said['left'], said['dead'], said['failed'], ended) != (AGENTS - 1, 1, 0, 0):
            wrong.append(f'the swarm says {said}, the aggregator ended with {ended}')
        if connections == 0:
            wrong.append('no node had a slow link')
        if profile['state'] != 'incomplete' or 'node0002' not in profile['verdict']:
            wrong.append(f'the dead node is not missed: {profile["verdict"]}')
        told = sum(gpu['count'] for gpu in self.truth().values())
        if told != said['records'] or not 0 < profile['totals']['kernels'] <= told:
            wrong.append(f'{profile["totals"]} in the profile, {told} told')
        return wrong, f'{said["events"]} events'


class Breaks(Swarm):
    """All connections lead through a proxy until it has done enough."""
    FAULTS = ('resets', 'cuts', 'vanishes')
    SPEED = ('--seconds', '3')

    def heal(self, line):
        self.came += [fault for fault in self.FAULTS if fault in line]
        if len(self.came) >= AGENTS and set(self.came) == set(self.FAULTS):
            self.proxy.healed = True

    def go(self):
        self.came = []
        aggregator, _, keys = self.start_with_keys()
        with FaultProxy(self.port, self.FAULTS, self.seed, tell=self.heal) as self.proxy:
            said = self.swarm(f'tcp://127.0.0.1:{self.proxy.port}', *keys, *SHAPE, *self.SPEED)
            log = self.proxy.log
        aggregator.end()
        wrong = self.untrue_whole(said)
        if set(self.came) != set(self.FAULTS):
            wrong.append(f'not all faults came: {log}')
        return wrong, f'{said["events"]} events, {len(log)} faults'


class Flips(Breaks):
    FAULTS = ('flips',)
    SPEED = ('--seconds', '20', '--unpaced')


class Unchecked(Swarm):
    HARMED = 3

    def go(self):
        aggregator, endpoint = self.start_listening()
        with FaultProxy(self.port, 'flips', self.seed) as proxy:
            said = self.swarm(endpoint, *SHAPE, '--seconds', '20', '--unpaced', *through(proxy, self.HARMED))
            log = proxy.log
        ended = aggregator.end()
        untrue = self.untrue()
        wrong = [line for line in untrue if f'node{self.HARMED:04}' not in line]
        harmed = len(untrue) - len(wrong)
        if ended != 0 or said['left'] < AGENTS - 1:
            wrong.append(f'the aggregator ended with {ended}, the swarm says {said}')
        if not log:
            wrong.append('no bit flipped')
        return wrong, f'{len(log)} bits, {said["failed"]} nodes failed, {harmed} GPUs of the node are wrong'


TRIALS = {'deaths': Deaths, 'breaks': Breaks, 'flips': Flips, 'unchecked': Unchecked}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('trials', nargs='*', default=TRIALS)
    parser.add_argument('--seed', type=int, default=20261123)
    arguments = parser.parse_args()
    return run_trials([TRIALS[name](arguments.build, name, arguments.seed) for name in arguments.trials], parallel=2)


if __name__ == '__main__':
    sys.exit(main())
