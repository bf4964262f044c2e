"""A training loop with NVTX ranges, a named stream of high priority, and a prefetch on it."""
import torch

torch.manual_seed(0)
m = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).cuda()
o = torch.optim.SGD(m.parameters(), lr=0.01)
host = torch.randn(64, 256).pin_memory()
prefetch = torch.cuda.Stream(priority=-1)
nvtx = torch.cuda.nvtx

for step in range(200):
    nvtx.range_push(f"step {step}")
    nvtx.range_push("input")
    with torch.cuda.stream(prefetch):
        x = host.to("cuda", non_blocking=True)
    torch.cuda.current_stream().wait_stream(prefetch)
    nvtx.range_pop()
    with nvtx.range("forward"):
        loss = m(x).square().mean()
    with nvtx.range("backward"):
        loss.backward()
    with nvtx.range("optimizer"):
        o.step()
        o.zero_grad()
    nvtx.range_pop()
torch.cuda.synchronize()
