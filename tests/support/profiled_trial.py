"""A trial is a profile made in a directory of its own: an aggregator, an agent, jobs of fake CUDA, and the truth that
fake CUDA wrote beside it. It passes if its go() finds nothing wrong; else its directory is kept.

    class Something(Trial):
        def go(self):                  # returns what is wrong, and a line of figures
    sys.exit(run_trials([Something(build, 'something')], parallel=4))
"""
import collections
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

LISTENING_SECONDS = 180
END_SECONDS = 240


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class Daemon:
    """A process that says when it listens. start() starts it, and after kill() starts it again. Its words are appended
    to one file."""

    def __init__(self, name, command, log, environment):
        self.name, self.command, self.log, self.environment = name, command, log, environment
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=self.environment)
        heard, listens = threading.Event(), threading.Event()
        threading.Thread(target=self._copy_words, args=(self.process.stderr, heard, listens), daemon=True).start()
        if not heard.wait(LISTENING_SECONDS) or not listens.is_set():
            raise RuntimeError(f'{self.name} does not listen')
        return self

    def _copy_words(self, pipe, heard, listens):
        with open(self.log, 'ab') as log:
            for line in pipe:
                log.write(line)
                log.flush()
                if b'listening on' in line:
                    listens.set()
                    heard.set()
        heard.set()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Ends it as a user would, even if it is stopped, and returns its status."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(END_SECONDS)


class Trial:
    def __init__(self, build, name):
        self.build, self.name = os.path.abspath(build), name
        self.place = None
        self.daemons, self.jobs = [], []

    def go(self):
        raise NotImplementedError

    def path(self, name):
        return os.path.join(self.place, name)

    def program(self, name):
        return os.path.join(self.build, name)

    def prepare(self):
        """A directory and an environment, in which no profiler of the caller's takes part."""
        self.place = tempfile.mkdtemp(prefix=f'flamegrid-{self.name}.')
        self.environment = dict(os.environ, LD_LIBRARY_PATH=self.program('lib/fake-cuda'), FAKE_CUDA_DEVICES='2')
        for name in ('CUDA_INJECTION64_PATH', 'FLAMEGRID_SOCKET', 'CUDA_VISIBLE_DEVICES'):
            self.environment.pop(name, None)
        with open(self.path('devices'), 'wb') as file:
            subprocess.run([self.program('bin/fake-cuda-devices')], stdout=file, env=self.environment, check=True)

    # ---- processes ---------------------------------------------------------------------------------------------------

    def _daemon(self, name, *arguments):
        daemon = Daemon(name, [self.program('bin/flamegrid-' + name), *arguments], self.path(name + '.log'),
                        self.environment)
        self.daemons.append(daemon)
        return daemon.start()

    def start_aggregator(self, endpoint, *arguments):
        return self._daemon('aggregator', '--listen', endpoint, '--store', self.path('profile.db'), *arguments)

    def start_agent(self, endpoint, *arguments):
        return self._daemon('agent', '--connect', endpoint, '--socket', self.path('agent'), '--devices',
                            self.path('devices'), '--symbol-cache', 'off', *arguments)

    def start_job(self, name, *arguments, **fake_cuda):
        """fake_launches under `flamegrid run --agent`. Its truth is NAME.records, its words are NAME.said."""
        environment = dict(self.environment, FAKE_CUDA_RECORDS=self.path(name + '.records'), **fake_cuda)
        with open(self.path(name + '.said'), 'wb') as said:
            job = subprocess.Popen([self.program('bin/flamegrid'), 'run', '--agent', self.path('agent'), '--',
                                    self.program('tests/fake_launches'), '--devices', '2', *arguments],
                                   stdout=subprocess.DEVNULL, stderr=said, env=environment)
        self.jobs.append(job)
        return job

    def leave_nothing(self):
        """Kills what still runs."""
        for process in self.jobs + [daemon.process for daemon in self.daemons]:
            if process and process.poll() is None:
                process.kill()

    # ---- what is in the profile --------------------------------------------------------------------------------------

    def report(self, *options, store='profile.db'):
        return subprocess.run([self.program('bin/flamegrid'), 'report', self.path(store), *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, check=False)

    def profile(self):
        return json.loads(self.report('--format', 'json', '--demangle', 'none').stdout)

    def delivered(self, *jobs):
        """What the jobs' guests were given: (GPU, name, 'count') and (GPU, name, 'ns') to sums."""
        sums = collections.Counter()
        for job in jobs:
            if not os.path.exists(self.path(job + '.records')):
                continue  # killed before anything was delivered
            with open(self.path(job + '.records')) as file:
                for line in file:
                    if not line.endswith('\n'):
                        break  # a kill cut the last line
                    gpu, _kind, name, start_ns, end_ns = line[:-1].split('\t')
                    sums[int(gpu), name, 'count'] += 1
                    sums[int(gpu), name, 'ns'] += int(end_ns) - int(start_ns)
        return sums

    @staticmethod
    def folded(profile):
        """What is in the profile, by the same keys."""
        sums = collections.Counter()
        for leaf in profile['leaves']:
            if leaf['kind'] in ('kernel', 'memcpy', 'memset'):
                name = leaf['frames'][-1].split(']', 1)[1] or '-'
                sums[leaf['gpu'], name, 'count'] += leaf['count']
                sums[leaf['gpu'], name, 'ns'] += leaf['ns']
        return sums

    def outcome(self):
        """What is wrong, and a line of figures."""
        figures = ''
        try:
            self.prepare()
            wrong, figures = self.go()
        except Exception as error:  # a trial that breaks has failed, whatever broke it
            wrong = [f'{type(error).__name__}: {error}']
        finally:
            self.leave_nothing()
        if wrong:
            figures += f'; kept: {self.place}'
        else:
            shutil.rmtree(self.place)
        return wrong, figures


def run_trials(trials, parallel):
    """Prints a line a trial and the sum. Returns the exit status: 0 all passed, 1 one did not."""
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        running = {pool.submit(trial.outcome): trial.name for trial in trials}
        for done in concurrent.futures.as_completed(running):
            wrong, figures = done.result()
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} - {running[done]}: {figures}", *wrong, sep='\n    ', flush=True)
    print(f'{passed} passed, {failed} failed')
    return int(failed != 0 or passed == 0)
