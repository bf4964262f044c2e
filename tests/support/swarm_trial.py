"""A trial of an aggregator and simulated nodes (tests/bench/swarm), which know what they told it: each GPU's number of
records and their nanoseconds. The profile is compared with that to the last nanosecond, by what `flamegrid report` says.

    class Something(SwarmTrial):
        def go(self):                  # as of Trial
            aggregator, endpoint = self.start_listening()
            said = self.swarm(endpoint, '--agents', '8')
            ...
            return self.untrue(), ''
"""
import csv
import json
import subprocess

from profiled_trial import END_SECONDS, Trial, free_port


class SwarmTrial(Trial):
    port = None

    def start_listening(self, *arguments):
        """An aggregator at a free port of the loopback, and its endpoint."""
        self.port = free_port()
        endpoint = f'tcp://127.0.0.1:{self.port}'
        return self.start_aggregator(endpoint, *arguments), endpoint

    def start_swarm(self, endpoint, *options, truth='truth'):
        swarm = subprocess.Popen([self.program('bench/swarm'), '--connect', endpoint, '--truth', self.path(truth),
                                  '--watch', str(self.daemons[-1].process.pid), *options], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=self.environment)
        self.jobs.append(swarm)
        return swarm

    @staticmethod
    def end_swarm(swarm, seconds=END_SECONDS):
        """Waits for its end, and returns what it says."""
        said, complaints = swarm.communicate(timeout=seconds)
        if swarm.returncode:
            raise RuntimeError(f'the swarm failed: {complaints}')
        return dict(json.loads(said), complaints=complaints)

    def swarm(self, endpoint, *options, seconds=END_SECONDS):
        """Runs a swarm to its end, and returns what it says."""
        return self.end_swarm(self.start_swarm(endpoint, *options), seconds)

    def truth(self, name='truth'):
        with open(self.path(name)) as lines:
            return {(gpu['node'], gpu['rank'], gpu['gpu']): gpu for gpu in map(json.loads, lines)}

    def ranks(self, store='profile.db'):
        """Of each GPU in the profile: records, nanoseconds."""
        report = self.report('--format', 'csv', '--rows', 'ranks', store=store).stdout.decode()
        rows = csv.DictReader(report.splitlines())
        return {(row['host'], int(row['rank']), int(row['gpu'])):
                (int(row['compute_kernels']) + int(row['nccl_kernels']), int(row['compute_ns']) + int(row['nccl_ns']))
                for row in rows if row['gpu']}

    def untrue(self, truth='truth', store='profile.db'):
        """What the profile has else than the swarm has told, a line for each of the first GPUs."""
        truth, profile = self.truth(truth), self.ranks(store)
        wrong = [f'{key}: not told of: {profile[key]}' for key in profile.keys() - truth.keys()]
        for key, gpu in truth.items():
            allowed = [tuple(moment) for moment in gpu.get('moments', [])] or [(gpu['count'], gpu['ns'])]
            found = profile.get(key, (0, 0))
            if found not in allowed:
                wrong.append(f'{key}: {found} in the profile, {allowed[0]} to {allowed[-1]} told')
        return wrong[:10] + ([f'and {len(wrong) - 10} more'] if len(wrong) > 10 else [])
