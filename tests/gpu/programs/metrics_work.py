"""Work whose counts are known: an addition that reads and writes memory alone, a product of bf16 matrices, a graph, and small
kernels. NVTX ranges: "step" has the first, the second and 100 small kernels, which are in "tiny"; "backward" has a product and
its gradient.

   metrics_work.py [ROUNDS]

Prints "bytes BYTES", "flops FLOPS", and "seconds SECONDS", which is what the rounds took without the first."""
import sys
import time

import torch

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
ELEMENTS, SIDE = 1 << 29, 8192
source = torch.ones(ELEMENTS, device='cuda')
target = torch.empty_like(source)
left = torch.randn(SIDE, SIDE, device='cuda', dtype=torch.bfloat16)
small = torch.zeros(16, device='cuda')
weights = left.clone().requires_grad_()


def add():
    torch.add(source, 1, out=target)


def multiply():
    return left @ left


def tiny():
    small.add_(1)


def step():
    torch.cuda.nvtx.range_push('step')
    add()
    multiply()
    torch.cuda.nvtx.range_push('tiny')
    for _ in range(100):
        tiny()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()


def learn():
    """PyTorch launches the backward pass, a product of the same size, in a thread of its own."""
    torch.cuda.nvtx.range_push('backward')
    (weights @ left).backward(left)
    torch.cuda.nvtx.range_pop()
    weights.grad = None


step()
torch.cuda.synchronize()
graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
with torch.cuda.stream(stream), torch.cuda.graph(graph):
    small.mul_(2)
graph.replay()
torch.cuda.synchronize()
begin = None
for number in range(ROUNDS):
    if number == ROUNDS // 2:
        torch.cuda.synchronize()
        begin = time.monotonic()
    step()
    learn()
    graph.replay()
torch.cuda.synchronize()
print('bytes', 2 * ELEMENTS * 4)
print('flops', 2 * SIDE ** 3)
print('seconds %.6f' % (time.monotonic() - begin))
