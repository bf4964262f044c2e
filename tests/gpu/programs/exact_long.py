"""Steps of a training for so many seconds, each one waited for: exact_long.py SECONDS.

Prints what the steps take that stand out, as a share of all: those that take over 1.5 times the median."""
import statistics
import sys
import time

import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(20)]).cuda()
data = torch.randn(512, 2048, device="cuda")
optimizer = torch.optim.AdamW(model.parameters())


def step():
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()


for _ in range(20):
    step()
took, end = [], time.perf_counter() + float(sys.argv[1])
while not took or time.perf_counter() < end:
    begin = time.perf_counter()
    step()
    took.append(time.perf_counter() - begin)
median = statistics.median(took)
late = [s for s in took if s > 1.5 * median]
print("%d steps, median %.2f ms, %d of them late, by %.1f ms in all: %.3f %%" % (
    len(took), median * 1e3, len(late), sum(s - median for s in late) * 1e3,
    100 * sum(s - median for s in late) / sum(took)))
