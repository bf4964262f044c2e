"""A server that looks like vLLM's, for serving_test.sh: an API server that uses no GPU starts an engine, and that the
workers of its other GPUs.

server.py LIBRARY GPUS ROUNDS

Each worker, the engine among them, prints "truth KIND NS", the GPU time of its steps by kind, and its pid."""

import collections
import contextlib
import ctypes
import os
import subprocess
import sys
import time

from vllm.v1.worker.gpu_model_runner import LAYERS, NS, GPUModelRunner

SIZES = (8, 4, 2, 1)
# Requests of context, their tokens, requests of generation.
STEPS = ((2, 90, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 40, 3), (0, 0, 4), (0, 0, 7), (0, 0, 20), (1, 7, 0))


class Gpu:
    def __init__(self, library, device):
        self.calls = ctypes.CDLL(library)
        self.calls.serving_end_capture.restype = ctypes.c_void_p
        self.calls.serving_start(device)

    def kernel(self, name, ns):
        self.calls.serving_kernel(name.encode(), ctypes.c_uint64(ns))

    @contextlib.contextmanager
    def range(self, name):
        self.calls.serving_push(name.encode())
        yield
        self.calls.serving_pop()

    def begin_capture(self):
        self.calls.serving_begin_capture()

    def end_capture(self):
        return ctypes.c_void_p(self.calls.serving_end_capture())

    def replay(self, graph):
        self.calls.serving_replay(graph)


def kind_of(context, generation):
    return "mixed" if context and generation else "prefill" if context else "decode"


def work(library, device, rounds):
    gpu, truth = Gpu(library, device), collections.Counter()
    gpu.kernel("load", 9000)
    truth["other"] += 9000
    runner = GPUModelRunner(gpu, SIZES)
    runner.capture_model()
    truth["dummy run"] += len(SIZES) * LAYERS * NS["dummy"]
    for i in range(rounds):
        for context, tokens, generation in STEPS:
            # The tokens differ from step to step, as those of prompts do.
            tokens += i if context else 0
            with gpu.range(f"execute_context_{context}({tokens})_generation_{generation}({generation})"):
                kind, ns = runner.execute_model(kind_of(context, generation), generation or context)
            truth[kind] += ns
            runner.sample_tokens()
            truth["sampling"] += NS["sampling"]
    gpu.calls.serving_wait()
    lines = [f"truth {kind.replace(' ', '_')} {ns}\n" for kind, ns in truth.items()]
    sys.stdout.write("".join(lines) + f"worker {os.getpid()}\n")
    sys.stdout.flush()


def answer(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def main():
    role, library, gpus, rounds = sys.argv[-1], sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if role == "engine":
        workers = [subprocess.Popen([sys.executable, *sys.argv[:4], str(device)]) for device in range(1, gpus)]
        work(library, 0, rounds)
        sys.exit(any([worker.wait() for worker in workers]))
    if len(sys.argv) == 5:
        work(library, int(role), rounds)
        return
    print(f"server {os.getpid()}", flush=True)
    engine = subprocess.Popen([sys.executable, *sys.argv, "engine"])
    answer(0.3)
    sys.exit(engine.wait())


if __name__ == "__main__":
    main()
