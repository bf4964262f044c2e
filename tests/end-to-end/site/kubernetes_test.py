"""The manifests of deploy/kubernetes: what matters of their fields, and that the programs run with their arguments and a job with its pod's variables.

usage: BUILD=build python3 kubernetes_test.py
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import yaml

BUILD = os.environ["BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "..")


def manifests(name):
    with open(os.path.join(SOURCE, "deploy/kubernetes", name), encoding="utf-8") as file:
        return {(document["kind"], document["metadata"]["name"]): document for document in yaml.safe_load_all(file)}


SITE = manifests("flamegrid-agent.yaml")
AGENT = SITE["DaemonSet", "flamegrid-agent"]["spec"]["template"]["spec"]
AGGREGATOR = SITE["Deployment", "flamegrid-aggregator"]["spec"]["template"]["spec"]
POD = manifests("profiled-pod.yaml")["Pod", "train"]["spec"]


def container(spec):
    (only,) = spec["containers"]
    return only


def host_mounts(spec):
    """Paths of the host and where they are inside."""
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    mounts = container(spec)["volumeMounts"]
    assert {mount["name"] for mount in mounts} == set(volumes), "every volume is mounted, and the other way round"
    return {
        volumes[mount["name"]]["hostPath"]["path"]: (mount["mountPath"], mount.get("readOnly", False))
        for mount in mounts
        if "hostPath" in volumes[mount["name"]]
    }


def site_rights():
    """Those of the rows of docs/bpf.md's table that are a site's agent's."""
    with open(os.path.join(SOURCE, "docs/bpf.md"), encoding="utf-8") as file:
        rows = re.search(r"^\| root's; with `--any-user`;.*?(?=^\| with `--stack-source)", file.read(), re.S | re.M).group(0)
    return {name for row in rows.splitlines() for name in re.findall(r"CAP_([A-Z_]+)", row.split("|")[2])}


def argument(spec, name):
    (value,) = [text.partition("=")[2] for text in container(spec)["args"] if text.startswith(f"--{name}=")]
    return value


class Fields(unittest.TestCase):
    def test_agent_has_a_site_agents_rights_and_no_others(self):
        context = container(AGENT)["securityContext"]
        self.assertEqual(set(context["capabilities"]["add"]), site_rights())
        self.assertEqual(len(site_rights()), 5)
        self.assertEqual(context["capabilities"]["drop"], ["ALL"])

    def test_aggregator_has_no_rights(self):
        self.assertEqual(container(AGGREGATOR)["securityContext"]["capabilities"], {"drop": ["ALL"]})

    def test_nothing_is_privileged(self):
        for spec in (AGENT, AGGREGATOR, POD):
            context = container(spec).get("securityContext", {})
            self.assertNotIn("privileged", context)
            self.assertFalse(context.get("allowPrivilegeEscalation", False))
            self.assertFalse(spec.get("hostNetwork", False) or spec.get("hostIPC", False))
        self.assertTrue(AGENT["hostPID"])
        self.assertNotIn("hostPID", AGGREGATOR)
        self.assertNotIn("hostPID", POD)

    def test_pod_and_agent_share_the_socket(self):
        agent, pod = host_mounts(AGENT), host_mounts(POD)
        self.assertEqual(set(agent) | {"/opt/flamegrid"}, set(pod))
        for path, (inside, read_only) in pod.items():
            self.assertEqual((inside, read_only), (path, True))
        for path, (inside, _) in agent.items():
            self.assertEqual(inside, path)
        variables = {variable["name"]: variable["value"] for variable in container(POD)["env"]}
        self.assertEqual(variables["FLAMEGRID_SOCKET"], argument(AGENT, "socket"))
        self.assertIn(os.path.dirname(variables["FLAMEGRID_SOCKET"]), pod)
        for name in ("CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"):
            self.assertEqual(variables[name], "/opt/flamegrid/lib/libflamegrid_inject.so")

    def test_agent_and_aggregator_are_this_versions_image(self):
        with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"VERSION ([0-9.]+) DESCRIPTION", file.read()).group(1)
        for spec in (AGENT, AGGREGATOR):
            self.assertEqual(container(spec)["image"], f"registry.example/flamegrid:{version}")

    def test_agents_find_the_aggregator(self):
        service = SITE["Service", "flamegrid-aggregator"]["spec"]
        (port,) = service["ports"]
        self.assertEqual(argument(AGENT, "connect"), f"tcp://flamegrid-aggregator:{port['port']}")
        self.assertEqual(service["selector"], SITE["Deployment", "flamegrid-aggregator"]["spec"]["template"]["metadata"]["labels"])
        (inside,) = container(AGGREGATOR)["ports"]
        self.assertEqual((inside["name"], f"tcp://0.0.0.0:{inside['containerPort']}"), (port["targetPort"], argument(AGGREGATOR, "listen")))
        self.assertEqual(SITE["Deployment", "flamegrid-aggregator"]["spec"]["replicas"], 1)

    def test_each_has_its_own_key_alone_and_nobody_else_can_read_it(self):
        for spec, key in ((AGENT, "agent.keys"), (AGGREGATOR, "aggregator.keys")):
            (secret,) = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
            self.assertEqual(secret["items"], [{"key": key, "path": key}])
            self.assertEqual(secret["defaultMode"], 0o400)
            self.assertNotIn("fsGroup", spec.get("securityContext", {}))
            self.assertEqual(container(spec)["securityContext"]["runAsUser"], 0)
            self.assertEqual(argument(spec, "keys"), f"/etc/flamegrid/keys/{key}")

    def test_what_is_written_is_on_volumes(self):
        for spec, option in ((AGENT, "socket"), (AGENT, "symbol-cache"), (AGGREGATOR, "store")):
            writable = [mount["mountPath"] for mount in container(spec)["volumeMounts"] if not mount.get("readOnly")]
            path = argument(spec, option)
            self.assertTrue(path in writable or os.path.dirname(path) in writable, path)
            self.assertTrue(container(spec)["securityContext"]["readOnlyRootFilesystem"])


class Programs(unittest.TestCase):
    """The manifests' commands, with their paths in a directory of this test."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="flamegrid-test.")
        self.addCleanup(shutil.rmtree, self.root)
        for path in ("opt/flamegrid/bin", "opt/flamegrid/lib", "run/flamegrid", "var/lib/flamegrid", "var/cache/flamegrid", "etc/flamegrid"):
            os.makedirs(os.path.join(self.root, path))
        for name in ("bin/flamegrid", "bin/flamegrid-agent", "bin/flamegrid-aggregator", "lib/libflamegrid_inject.so"):
            shutil.copy(os.path.join(BUILD, name), os.path.join(self.root, "opt/flamegrid", name))
        subprocess.run([self.at("/opt/flamegrid/bin/flamegrid"), "keygen", self.at("/etc/flamegrid/keys")], check=True, stdout=subprocess.DEVNULL)

    def at(self, path):
        return self.root + path

    def start(self, spec, *changes):
        """Until it listens; changes: of arguments that are another machine's."""
        words = container(spec)["command"] + container(spec)["args"]
        words = [re.sub(r"(?<![:/])/(opt|run|var|etc)/", lambda found: self.root + found.group(0), word) for word in words]
        words = [word for word in words if word.partition("=")[0] not in [change.partition("=")[0] for change in changes]]
        process = subprocess.Popen(words + list(changes), stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("listening on") or "listening on" in line:
                return process, line
        self.fail("".join(said))

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        self.assertEqual(process.wait(), 0)

    def test_a_pods_job_is_in_the_aggregators_profile(self):
        aggregator, line = self.start(AGGREGATOR, "--listen=tcp://127.0.0.1:*")
        port = re.search(r"tcp://127\.0\.0\.1:(\d+)", line).group(1)
        devices = self.at("/devices")
        with open(devices, "w", encoding="utf-8") as file:
            subprocess.run([os.path.join(BUILD, "bin/fake-cuda-devices")], env={**os.environ, "FAKE_CUDA_DEVICES": "1"}, stdout=file, check=True)
        agent, _ = self.start(AGENT, f"--connect=tcp://127.0.0.1:{port}", "--node-name=node7", f"--devices={devices}")
        job = {variable["name"]: self.at(variable["value"]) for variable in container(POD)["env"]}
        job.update(LD_LIBRARY_PATH=os.path.join(BUILD, "lib/fake-cuda"), FAKE_CUDA_DEVICES="1")
        subprocess.run([os.path.join(BUILD, "tests/fake_launches"), "--launches", "2000"], env=job, check=True, stdout=subprocess.DEVNULL)
        self.end(agent)
        self.end(aggregator)
        report = [self.at("/opt/flamegrid/bin/flamegrid"), "report", self.at("/var/lib/flamegrid/profile.db")]
        folded = subprocess.run(report + ["--format", "folded", "--by", "host", "--weight", "count"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()), 2000)
        self.assertTrue(all(line.startswith("node7;") for line in folded.splitlines()), folded)


if __name__ == "__main__":
    unittest.main(verbosity=2)
