#!/usr/bin/env python3
"""One job for each fault of tests/support/fault_proxy.py between agent and aggregator, with keys. Each profile is exact to
the nanosecond, and nothing is lost.

    faulty_network_test.py BUILD [--seed S] [FAULT...]

Exit status: 0 all held, 1 one did not (its files are kept)."""
import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from fault_proxy import FaultProxy  # noqa: E402

FAULTS = ('none', 'slow', 'jitter', 'stalls', 'resets', 'cuts', 'vanishes', 'flips')
MUST_HAPPEN = ('stalls', 'resets', 'cuts', 'vanishes', 'flips')
LAUNCHES = 60_000
SECONDS = 180


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class Trial:
    def __init__(self, build, fault, seed):
        self.build, self.fault, self.seed = build, fault, seed
        self.place = tempfile.mkdtemp(prefix=f'flamegrid-network-{fault}.')
        self.environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, 'lib/fake-cuda'), FAKE_CUDA_DEVICES='2',
                                FAKE_CUDA_RECORDS=self.path('records'), FAKE_CUDA_LAUNCH_NS='20000')
        self.environment.pop('CUDA_INJECTION64_PATH', None)

    def path(self, name):
        return os.path.join(self.place, name)

    def program(self, name):
        return os.path.join(self.build, 'bin', name)

    def daemon(self, name, *arguments):
        """Starts it, and returns when it listens; its words are in NAME.log."""
        process = subprocess.Popen([self.program(name), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=self.environment)
        listening = threading.Event()

        def copy():
            with open(self.path(name + '.log'), 'wb') as log:
                for line in process.stderr:
                    log.write(line)
                    log.flush()
                    if b'listening on' in line:
                        listening.set()
            listening.set()
        threading.Thread(target=copy, daemon=True).start()
        if not listening.wait(SECONDS) or process.poll() is not None:
            raise RuntimeError(f'{name} does not listen')
        return process

    def delivered(self):
        sums = collections.Counter()
        with open(self.path('records')) as file:
            for line in file:
                gpu, _kind, name, start_ns, end_ns = line.rstrip('\n').split('\t')
                sums[gpu, name, 'count'] += 1
                sums[gpu, name, 'ns'] += int(end_ns) - int(start_ns)
        return sums

    def folded(self):
        report = subprocess.run([self.program('flamegrid'), 'report', self.path('profile.db'), '--format', 'json'],
                                stdout=subprocess.PIPE, env=self.environment, check=True)
        sums = collections.Counter()
        for leaf in json.loads(report.stdout)['leaves']:
            if leaf['kind'] in ('kernel', 'memcpy', 'memset'):
                name = leaf['frames'][-1].split(']', 1)[1] or '-'
                sums[str(leaf['gpu']), name, 'count'] += leaf['count']
                sums[str(leaf['gpu']), name, 'ns'] += leaf['ns']
        return sums

    def go(self):
        with open(self.path('devices'), 'wb') as file:
            subprocess.run([self.program('fake-cuda-devices')], stdout=file, env=self.environment, check=True)
        subprocess.run([self.program('flamegrid'), 'keygen', self.path('keys')], stdout=subprocess.DEVNULL, check=True)
        port = free_port()
        aggregator = self.daemon('flamegrid-aggregator', '--keys', self.path('keys/aggregator.keys'), '--listen',
                                 f'tcp://127.0.0.1:{port}', '--store', self.path('profile.db'))
        with FaultProxy(port, self.fault, self.seed) as proxy:
            agent = self.daemon('flamegrid-agent', '--keys', self.path('keys/agent.keys'), '--connect',
                                f'tcp://127.0.0.1:{proxy.port}', '--socket', self.path('agent'), '--devices',
                                self.path('devices'), '--symbol-cache', 'off')
            with open(self.path('said'), 'wb') as said:
                job = subprocess.run([self.program('flamegrid'), 'run', '--agent', self.path('agent'), '--',
                                      os.path.join(self.build, 'tests/fake_launches'), '--devices', '2', '--streams', '2',
                                      '--threads', '2', '--launches', str(LAUNCHES // 2)],
                                     stdout=subprocess.DEVNULL, stderr=said, env=self.environment, timeout=SECONDS,
                                     check=False)
            proxy.healed = True  # the agent has ten seconds for its last frames
            agent.terminate()
            statuses = [job.returncode, agent.wait(SECONDS)]
            happened, connections = proxy.faults, proxy.connections
        aggregator.terminate()
        statuses.append(aggregator.wait(SECONDS))
        strict = subprocess.run([self.program('flamegrid'), 'report', self.path('profile.db'), '--strict'],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
        wrong = []
        if statuses != [0, 0, 0]:
            wrong.append(f'job, agent and aggregator ended with {statuses}')
        if strict != 0:
            wrong.append(f'--strict exits with {strict}')
        if self.fault in MUST_HAPPEN and not happened:
            wrong.append('the fault never came')
        delivered, folded = self.delivered(), self.folded()
        if delivered != folded:
            wrong.append(f'folded less delivered: {folded - delivered}, delivered less folded: {delivered - folded}')
        return wrong, f'{happened} faults, {connections} connections'


def trial(build, fault, seed):
    one = Trial(build, fault, seed)
    try:
        wrong, figures = one.go()
    except Exception as error:  # whatever broke it, it has failed
        wrong, figures = [f'{type(error).__name__}: {error}'], ''
    if wrong:
        figures += f'; kept: {one.place}'
    else:
        shutil.rmtree(one.place)
    return wrong, figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('faults', nargs='*', default=FAULTS)
    parser.add_argument('--seed', type=int, default=20261122)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        trials = {pool.submit(trial, build, fault, arguments.seed): fault for fault in arguments.faults}
        for done in concurrent.futures.as_completed(trials):
            wrong, figures = done.result()
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} - {trials[done]}: {figures}", *wrong, sep='\n    ', flush=True)
    print(f'{passed} passed, {failed} failed')
    return failed != 0 or passed == 0


if __name__ == '__main__':
    sys.exit(main())
