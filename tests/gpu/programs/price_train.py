"""Steps with a profiler on and off by turns, in one process: what the profiler costs.

   price_train.py MODEL WAY PAIRS

MODEL is tiny, gpt, compiled (the same, by torch.compile), resnet, or ddp (gpt on all ranks of torchrun; the first one prints). WAY is none, range (cudaProfilerStart() and
cudaProfilerStop()), torch or stacks (PyTorch's profiler, without and with stacks), or floor=LIBRARY (cupti_floor.c).
Prints, for each pair of blocks, the us of a step without and with, and the us of CPU time of the launching threads."""
import ctypes
import glob
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

import gpt_train

model_name, way, pairs = sys.argv[1], sys.argv[2], int(sys.argv[3])
BLOCK_S, SKIPPED = 0.4, 3 # of each block the first steps, in which a window opens


class Bottleneck(nn.Module):
    def __init__(self, width, inner, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, 4 * inner, 1, bias=False), nn.BatchNorm2d(4 * inner))
        self.beside = None if width == 4 * inner and stride == 1 else nn.Sequential(
            nn.Conv2d(width, 4 * inner, 1, stride, bias=False), nn.BatchNorm2d(4 * inner))

    def forward(self, x):
        return F.relu(self.body(x) + (self.beside(x) if self.beside else x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for inner, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(width, inner, stride if i == 0 else 1))
            width = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def make_step():
    if model_name == "tiny":
        model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(20)]).cuda()
        data = torch.randn(64, 256, device="cuda")
        loss_of = lambda: model(data).square().mean()
    elif model_name == "resnet":
        model = resnet50().cuda()
        data = torch.randn(8, 3, 224, 224, device="cuda")
        goals = torch.randint(1000, (8,), device="cuda")
        loss_of = lambda: F.cross_entropy(model(data), goals)
    else:
        gpt_train.BATCH = 2
        plain = gpt_train.Gpt().cuda()
        model = torch.compile(plain) if model_name == "compiled" else plain
        if model_name == "ddp":
            model = nn.parallel.DistributedDataParallel(plain)
        words = torch.randint(gpt_train.WORDS, (2, gpt_train.LENGTH + 1), device="cuda")

        def loss_of():
            with torch.autocast("cuda", torch.bfloat16):
                return F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()
    return step


class Switch:
    """Starts and stops the profiler of WAY."""
    def __init__(self):
        self.library = ctypes.CDLL(way[len("floor="):]) if way.startswith("floor=") else None

    def start(self):
        if way == "range":
            torch.cuda.cudart().cudaProfilerStart()
        elif self.library and self.library.floor_start():
            sys.exit("floor_start() failed")
        elif way in ("torch", "stacks"):
            kinds = torch.profiler.ProfilerActivity
            self.session = torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA], with_stack=way == "stacks")
            self.session.start()

    def stop(self):
        if way == "range":
            torch.cuda.cudart().cudaProfilerStop()
        elif self.library and self.library.floor_stop():
            sys.exit("floor_stop() failed")
        elif way in ("torch", "stacks"):
            self.session.stop()


def launching_cpu_ns():
    """CPU time of the main thread and of autograd's."""
    sum_ns = 0
    for folder in glob.glob("/proc/self/task/*"):
        try:
            name = open(folder + "/comm").read()
            if folder.endswith("/%d" % os.getpid()) or name.startswith("pt_autograd"):
                sum_ns += int(open(folder + "/schedstat").read().split()[0])
        except FileNotFoundError:
            pass
    return sum_ns


def block(step, steps):
    for _ in range(SKIPPED):
        step()
    torch.cuda.synchronize()
    cpu, begin = launching_cpu_ns(), time.perf_counter_ns()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    took, used = time.perf_counter_ns() - begin, launching_cpu_ns() - cpu
    return took / steps / 1e3, used / steps / 1e3


rank = 0
if model_name == "ddp":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    rank = torch.distributed.get_rank()
step, switch = make_step(), Switch()
for _ in range(30):
    step()
torch.cuda.synchronize()
steps = torch.tensor(max(SKIPPED, round(BLOCK_S * 1e6 / block(step, 20)[0])), device="cuda")
if model_name == "ddp": # as many on each rank
    torch.distributed.broadcast(steps, 0)
steps = int(steps)
for _ in range(pairs):
    without = block(step, steps)
    switch.start()
    within = block(step, steps)
    switch.stop()
    if rank == 0:
        print("pair %.1f %.1f cpu %.1f %.1f" % (without[0], within[0], without[1], within[1]), flush=True)
if rank == 0:
    print("steps inside %d" % (pairs * (steps + SKIPPED)))
if model_name == "ddp":
    torch.distributed.destroy_process_group()
