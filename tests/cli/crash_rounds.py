#!/usr/bin/env python3
"""Seeded rounds in which parts of a running profiler are killed or stopped at random times.

    crash_rounds.py BUILD [--rounds N] [--seed S] [--parallel P] [--stop-max SECONDS]

A round has an aggregator, an agent, a job that ends by itself and in some rounds a second job that is killed. Its seed
decides what is killed (SIGKILL; daemons are started again) or stopped (SIGSTOP, then SIGCONT), when, and for how long.
Fake CUDA knows the truth. In each round: no record counts twice, no nanosecond differs, a record that is missing makes
`report --strict` exit with 3, and a round in which nothing can be missing makes it exit with 0.

Prints a line a round and the sum. Exit status: 0 all rounds held, 1 one did not (its files are kept)."""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

JOB_SECONDS = 3.0  # about, undisturbed
LISTENING_SECONDS = 60
END_SECONDS = 240
LOST_RECORDS = ('record_ring_full', 'invalid_time', 'still_running', 'cupti_dropped', 'buffer_exhausted')


class Daemon:
    """A process that is started again whenever it was killed. Its stderr is kept in one file."""

    def __init__(self, name, command, log, environment):
        self.name, self.command, self.environment = name, command, environment
        self.log = open(log, 'ab')
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        env=self.environment)
        listening = threading.Event()
        threading.Thread(target=self._copy_log, args=(self.process.stderr, listening), daemon=True).start()
        if not listening.wait(LISTENING_SECONDS):
            raise RuntimeError(f'{self.name} does not listen')

    def _copy_log(self, pipe, listening):
        for line in pipe:
            self.log.write(line)
            self.log.flush()
            if b'listening on' in line:
                listening.set()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(END_SECONDS)


class Job:
    """`flamegrid run --agent` around fake_launches; its target is known by what it writes to a pipe."""

    def __init__(self, round_, name, *arguments):
        self.truth = os.path.join(round_.place, name + '.truth')
        self.records = os.path.join(round_.place, name + '.records')
        pipe = os.path.join(round_.place, name + '.progress')
        os.mkfifo(pipe)
        environment = dict(round_.environment, FAKE_CUDA_TRUTH=self.truth, FAKE_CUDA_RECORDS=self.records,
                           FAKE_CUDA_LAUNCH_NS='30000')
        self.said = open(os.path.join(round_.place, name + '.said'), 'wb')
        self.run = subprocess.Popen(
            [round_.program('bin/flamegrid'), 'run', '--agent', round_.socket, '--',
             round_.program('tests/fake_launches'), '--devices', '2', '--streams', '4', '--threads', '2',
             '--kernels', '5', '--sync-every', '1000', '--progress', pipe, *arguments],
            stdout=subprocess.DEVNULL, stderr=self.said, env=environment)
        self.progress = open(pipe)
        self.pid = int(self.progress.readline().split()[0])
        threading.Thread(target=self.progress.read, daemon=True).start()

    def signal(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass


class Round:
    def __init__(self, arguments, seed):
        self.seed, self.build, self.random = seed, arguments.build, random.Random(seed)
        self.stop_max = arguments.stop_max
        self.place = tempfile.mkdtemp(prefix=f'flamegrid-round-{seed}.')
        self.socket = os.path.join(self.place, 'agent')
        self.store = os.path.join(self.place, 'profile.db')
        self.environment = dict(os.environ, LD_LIBRARY_PATH=self.program('lib/fake-cuda'), FAKE_CUDA_DEVICES='2')
        for name in ('CUDA_INJECTION64_PATH', 'FLAMEGRID_SOCKET', 'CUDA_VISIBLE_DEVICES'):
            self.environment.pop(name, None)
        self.events, self.faults = [], []

    def program(self, path):
        return os.path.join(self.build, path)

    # ---- what happens ------------------------------------------------------------------------------------------------

    def start(self):
        devices = os.path.join(self.place, 'devices')
        with open(devices, 'wb') as file:
            subprocess.run([self.program('bin/fake-cuda-devices')], stdout=file, env=self.environment, check=True)
        endpoint = 'ipc://' + os.path.join(self.place, 'aggregator')
        self.aggregator = Daemon('aggregator', [self.program('bin/flamegrid-aggregator'), '--listen', endpoint,
                                                '--store', self.store],
                                 os.path.join(self.place, 'aggregator.log'), self.environment)
        self.agent = Daemon('agent', [self.program('bin/flamegrid-agent'), '--connect', endpoint, '--socket', self.socket,
                                      '--devices', devices, '--symbol-cache', 'off'],
                            os.path.join(self.place, 'agent.log'), self.environment)
        self.aggregator.start()
        self.agent.start()
        launches = int(JOB_SECONDS * 1e9 / 30000)
        self.job = Job(self, 'job', '--launches', str(launches))
        self.victim = Job(self, 'victim', '--mangled', '--forever') if self.random.random() < 0.4 else None

    def plan(self):
        """Events as (seconds, what is to be done), in the order of time."""
        draw = self.random
        for _ in range(draw.randint(1, 4)):
            at, who = draw.uniform(0, JOB_SECONDS), draw.choice(('agent', 'aggregator', 'both', 'target'))
            if who == 'target' or draw.random() < 0.4:
                until = at + draw.uniform(0, self.stop_max)
                parts = ('agent', 'aggregator') if who == 'both' else (who,)
                for part in parts:
                    self.events += [(at, 'stop', part), (until, 'continue', part)]
            else:
                parts = ['agent', 'aggregator'] if who == 'both' else [who]
                draw.shuffle(parts)
                for part in parts:
                    self.events += [(at, 'kill', part), (at + draw.uniform(0, 0.8), 'start', part)]
        if self.victim:
            self.events.append((draw.uniform(0, JOB_SECONDS), 'kill', 'victim'))
        self.events.sort()

    def play(self):
        began = time.monotonic()
        dead = set()
        for at, what, part in self.events:
            if at > time.monotonic() - began:
                threading.Event().wait(at - (time.monotonic() - began))
            self.faults.append(f'{at:.2f} {what} {part}')
            if part == 'victim':
                self.victim.signal(signal.SIGKILL)
            elif part == 'target':
                self.job.signal(signal.SIGSTOP if what == 'stop' else signal.SIGCONT)
            else:
                self._daemon_event(getattr(self, part), what, dead)
        for daemon in (self.aggregator, self.agent):
            if daemon.name in dead:
                daemon.start()

    @staticmethod
    def _daemon_event(daemon, what, dead):
        if what == 'start':
            if daemon.name in dead:
                dead.discard(daemon.name)
                daemon.start()
        elif daemon.name in dead:
            return
        elif what == 'kill':
            daemon.kill()
            dead.add(daemon.name)
        else:
            daemon.process.send_signal(signal.SIGSTOP if what == 'stop' else signal.SIGCONT)

    def end(self):
        self.job.signal(signal.SIGCONT)
        for daemon in (self.aggregator, self.agent):
            daemon.process.send_signal(signal.SIGCONT)
        statuses = [('job', self.job.run.wait(END_SECONDS), 0)]
        if self.victim:
            statuses.append(('victim', self.victim.run.wait(END_SECONDS), -signal.SIGKILL))  # run ends as its command
        statuses += [('agent', self.agent.end(), 0), ('aggregator', self.aggregator.end(), 0)]
        return [f'{name} ended with {status}, not {wanted}' for name, status, wanted in statuses if status != wanted]

    # ---- what is in the profile --------------------------------------------------------------------------------------

    def report(self, *options):
        return subprocess.run([self.program('bin/flamegrid'), 'report', self.store, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.environment, check=False)

    def delivered(self):
        """Count and ns by (GPU, name) of what the guests were given."""
        truth = collections.defaultdict(lambda: [0, 0])
        for job in (self.job, self.victim):
            if not job or not os.path.exists(job.records):
                continue  # killed before anything was delivered
            with open(job.records) as file:
                for line in file:
                    fields = line.rstrip('\n').split('\t')
                    if len(fields) == 5 and fields[1] == 'kernel':  # a kill may cut the last line
                        row = truth[int(fields[0]), fields[2]]
                        row[0] += 1
                        row[1] += int(fields[4]) - int(fields[3])
        return truth

    def judge(self):
        wrong = []
        profile = json.loads(self.report('--format', 'json', '--demangle', 'none').stdout)
        folded = collections.defaultdict(lambda: [0, 0])
        for leaf in profile['leaves']:
            if leaf['kind'] == 'kernel':
                row = folded[leaf['gpu'], leaf['frames'][-1].split(']', 1)[1]]
                row[0] += leaf['count']
                row[1] += leaf['ns']
        missing = doubled = 0
        delivered = self.delivered()
        for key in set(delivered) | set(folded):
            count, ns = delivered[key]
            have, have_ns = folded[key]
            missing += max(0, count - have)
            doubled += max(0, have - count)
            if have == count and have_ns != ns:
                wrong.append(f'{key}: {have_ns - ns} ns too many')
        strict = self.report('--strict').returncode
        lost = sum(row['count'] for row in profile['ledger'] if row['reason'] in LOST_RECORDS)
        agent_died = any('kill agent' in fault for fault in self.faults)
        if doubled:
            wrong.append(f'{doubled} records doubled')
        if strict not in (0, 3):
            wrong.append(f'--strict exits with {strict}')
        if missing and strict != 3:
            wrong.append(f'{missing} records missing, {lost} counted as lost, and --strict exits with {strict}')
        if self.victim and strict != 3:
            wrong.append(f'a process was killed, and --strict exits with {strict}')
        if not missing and not self.victim and not agent_died and strict != 0 and not profile['totals']['lost']:
            wrong.append(f'nothing is missing, and --strict exits with {strict}')
        if missing == 0 and self.victim is None and profile['totals']['kernels'] != sum(c for c, _ in delivered.values()):
            wrong.append('the total of kernels is not what was delivered')
        return wrong, (f"{sum(c for c, _ in delivered.values())} delivered, {missing} missing, {lost} counted lost, "
                       f"{doubled} doubled, strict {strict}")

    def go(self):
        figures = ''
        try:
            self.start()
            self.plan()
            self.play()
            wrong = self.end()
            more, figures = self.judge()
            wrong += more
        except Exception as error:  # a round that breaks has failed, whatever broke it
            wrong = [f'{type(error).__name__}: {error}']
        finally:
            self._leave_nothing()
        if wrong:
            figures += f"; kept: {self.place}; {'; '.join(self.faults)}"
        else:
            shutil.rmtree(self.place)
        return self.seed, wrong, figures

    def _leave_nothing(self):
        for name in ('job', 'victim'):
            job = getattr(self, name, None)
            if job:
                job.signal(signal.SIGKILL)
                job.run.kill()
        for name in ('agent', 'aggregator'):
            daemon = getattr(self, name, None)
            if daemon and daemon.process:
                daemon.process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--seed', type=int, default=20261122)
    parser.add_argument('--parallel', type=int, default=4)
    parser.add_argument('--stop-max', type=float, default=5.0)
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        rounds = [pool.submit(Round(arguments, arguments.seed + i).go) for i in range(arguments.rounds)]
        for done in concurrent.futures.as_completed(rounds):
            seed, wrong, figures = done.result()
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} - seed {seed}: {figures}", *wrong, sep='\n    ', flush=True)
    print(f'{passed} passed, {failed} failed')
    return failed != 0 or passed == 0


if __name__ == '__main__':
    sys.exit(main())
