#!/usr/bin/env python3
"""Seeded rounds in which parts of a running profiler are killed or stopped at random times.

    crash_rounds.py BUILD [--rounds N] [--seed S] [--parallel P] [--stop-max SECONDS]

A round has an aggregator, an agent, a job that ends by itself and in some rounds a second job that is killed. Its seed
decides what is killed (SIGKILL; daemons are started again) or stopped (SIGSTOP, then SIGCONT), when, and for how long.
Fake CUDA knows the truth. In each round: no record counts twice, no nanosecond differs, a record that is missing makes
`report --strict` exit with 3, and a round in which nothing can be missing makes it exit with 0.

Prints a line a round, with all that happened, and the sum. Exit status: 0 all rounds held, 1 one did not (its files are
kept)."""
import argparse
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
from profiled_trial import END_SECONDS, Trial, run_trials  # noqa: E402

JOB_SECONDS = 3.0  # about, undisturbed: each thread waits for its kernels after each 1,000
LAUNCHES = 100_000  # a thread
KERNEL_NS = ','.join(f'k{i}=100000-140000,_ZN7trainer6kernelILi{i}EEEvPfi=100000-140000' for i in range(5))
LOST_RECORDS = ('record_ring_full', 'invalid_time', 'still_running', 'cupti_dropped', 'buffer_exhausted')


class Job:
    """A job whose target is known by what it writes to a pipe."""

    def __init__(self, trial, name, *arguments):
        pipe = trial.path(name + '.progress')
        os.mkfifo(pipe)
        self.run = trial.start_job(name, '--streams', '4', '--threads', '2', '--kernels', '5', '--sync-every', '1000',
                                   '--progress', pipe, *arguments, FAKE_CUDA_LAUNCH_NS='0',
                                   FAKE_CUDA_KERNEL_NS=KERNEL_NS)
        self.progress = open(pipe)
        self.pid = int(self.progress.readline().split()[0])
        threading.Thread(target=self.progress.read, daemon=True).start()

    def signal(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass


class Round(Trial):
    def __init__(self, build, seed, stop_max):
        super().__init__(build, f'round-{seed}')
        self.random, self.stop_max = random.Random(seed), stop_max
        self.job = self.victim = None
        self.gave_up = False
        self.events, self.happened = [], []

    # ---- what happens ------------------------------------------------------------------------------------------------

    def start(self):
        endpoint = 'ipc://' + self.path('aggregator')
        self.aggregator = self.start_aggregator(endpoint)
        self.agent = self.start_agent(endpoint)
        self.job = Job(self, 'job', '--launches', str(LAUNCHES))
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
            self.happened.append(f'{at:.2f} {what} {part}')
            if part == 'victim':
                self.victim.signal(signal.SIGKILL)
            elif part == 'target':
                self.job.signal(signal.SIGSTOP if what == 'stop' else signal.SIGCONT)
            else:
                self._daemon_event(getattr(self, part), what, dead)
        for daemon in self.daemons:
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
        for daemon in self.daemons:
            daemon.process.send_signal(signal.SIGCONT)
        statuses = [('job', self.job.run.wait(END_SECONDS), (0,))]
        if self.victim:
            # `run` ends as its command does.
            statuses.append(('victim', self.victim.run.wait(END_SECONDS), (-signal.SIGKILL,)))
        # On a loaded machine ten seconds may not do for the agent's last frames. It says so, and so does the report.
        agent = self.agent.end()
        with open(self.agent.log) as log:
            self.gave_up = agent == 1 and 'were not acknowledged' in log.read()
        statuses += [('agent', agent, (0, 1) if self.gave_up else (0,)), ('aggregator', self.aggregator.end(), (0,))]
        return [f'{name} ended with {status}' for name, status, wanted in statuses if status not in wanted]

    def leave_nothing(self):
        for job in (self.job, self.victim):
            if job and job.run.poll() is None:
                job.signal(signal.SIGKILL)
        super().leave_nothing()

    # ---- what is in the profile --------------------------------------------------------------------------------------

    def judge(self):
        profile = self.profile()
        delivered, folded = self.delivered('job', 'victim'), self.folded(profile)
        kernels = sum(count for key, count in delivered.items() if key[-1] == 'count')
        missing = sum(count for key, count in (delivered - folded).items() if key[-1] == 'count')
        doubled = sum(count for key, count in (folded - delivered).items() if key[-1] == 'count')
        strict = self.report('--strict').returncode
        lost = sum(row['count'] for row in profile['ledger'] if row['reason'] in LOST_RECORDS)
        wrong = []
        for gpu, name, what in delivered:
            if what == 'count' and delivered[gpu, name, what] == folded[gpu, name, what]:
                ns = folded[gpu, name, 'ns'] - delivered[gpu, name, 'ns']
                if ns:
                    wrong.append(f'{name} on GPU {gpu}: {ns} ns too many')
        agent_died = any('kill agent' in event for event in self.happened)
        if doubled:
            wrong.append(f'{doubled} records doubled')
        if strict not in (0, 3):
            wrong.append(f'--strict exits with {strict}')
        if missing and strict != 3:
            wrong.append(f'{missing} records missing, {lost} counted as lost, and --strict exits with {strict}')
        if (self.victim or self.gave_up) and strict != 3:
            wrong.append(f'a process was killed or the agent gave up, and --strict exits with {strict}')
        may_be_missing = missing or self.victim or self.gave_up or agent_died or profile['totals']['lost']
        if not may_be_missing and strict != 0:
            wrong.append(f'nothing is missing, and --strict exits with {strict}')
        if not missing and not self.victim and profile['totals']['kernels'] != kernels:
            wrong.append('the total of kernels is not what was delivered')
        return wrong, (f"{kernels} delivered, {missing} missing, {lost} counted lost, {doubled} doubled, "
                       f"strict {strict}; {'; '.join(self.happened)}")

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
    parser.add_argument('--rounds', type=int, default=300 if os.environ.get('FLAMEGRID_NIGHTLY') else 20)
    parser.add_argument('--seed', type=int, default=20261122)
    parser.add_argument('--parallel', type=int, default=4)
    parser.add_argument('--stop-max', type=float, default=5.0)
    arguments = parser.parse_args()
    rounds = [Round(arguments.build, arguments.seed + i, arguments.stop_max) for i in range(arguments.rounds)]
    return run_trials(rounds, arguments.parallel)


if __name__ == '__main__':
    sys.exit(main())
