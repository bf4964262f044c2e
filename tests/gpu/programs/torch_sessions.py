"""One session of PyTorch's profiler after another, as its schedules make them: each must see all that ran in it.

   torch_sessions.py SESSIONS KERNELS

Prints how many sessions saw all, some or none of their kernels."""
import sys

import torch

sessions, kernels = (int(a) for a in sys.argv[1:3])
x = torch.zeros(1 << 16, device="cuda")
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]


def session():
    with torch.profiler.profile(activities=activities) as prof:
        for _ in range(kernels):
            x.add_(1.0)
    return sum(e.device_type == torch.autograd.DeviceType.CUDA and "elementwise" in e.name for e in prof.events())


seen = [session() for _ in range(sessions)]
whole, none = seen.count(kernels), seen.count(0)
print(f"sessions whole {whole} some {sessions - whole - none} none {none}")
