# A whole training step, forward, backward and optimizer, captured in one CUDA graph and replayed. Argument: replays.
import sys
import time

import torch

replays = int(sys.argv[1]) if len(sys.argv) > 1 else 500
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(20)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
x = torch.randn(64, 256, device='cuda')


def forward():
    return model(x).square().mean()


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = forward()
    loss.backward()
    optimizer.step()


def replay(graph):
    graph.replay()


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    step()
torch.cuda.synchronize()
times = []
for _ in range(5):
    begin = time.time()
    for _ in range(replays):
        replay(graph)
    torch.cuda.synchronize()
    times.append((time.time() - begin) / replays * 1e6)
print('  us/step:', ' '.join('%.0f' % t for t in times))
print('memory allocated', torch.cuda.memory_allocated(), 'free', torch.cuda.mem_get_info()[0])
