"""PyTorch's own profiler before, during and after our records: what it sees must be what ran.

   torch_profiler.py BEFORE DURING AFTER   steps of each phase

A step is one kernel. Prints what was launched in each phase, and how many kernels the profiler's session saw."""
import sys
import time

import torch

before, during, after = (int(a) for a in sys.argv[1:4])
x = torch.zeros(1 << 16, device="cuda")


def steps(n):
    for i in range(n):
        x.add_(1.0)
        if i % 100 == 99:
            torch.cuda.synchronize()
            time.sleep(0.002)
    torch.cuda.synchronize()


def outside_before():
    steps(before)


def inside():
    steps(during)


def outside_after():
    steps(after)


outside_before()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as prof:
    inside()
seen = sum(e.count for e in prof.key_averages() if e.device_type == torch.autograd.DeviceType.CUDA and "elementwise" in e.key)
outside_after()
print(f"launched before {before} during {during} after {after}")
print(f"session saw {seen}")
