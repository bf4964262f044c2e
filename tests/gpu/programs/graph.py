# A small model captured in a CUDA graph and replayed: kernels that no launch of their own precedes.
import torch

x = torch.randn(64, 256, device='cuda')
w = torch.randn(256, 256, device='cuda')


def forward():
    return (x @ w).relu().sum()


def replay(graph, times):
    for _ in range(times):
        graph.replay()


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        y = forward()
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = forward()
replay(graph, 200)
torch.cuda.synchronize()
print('graph done')
