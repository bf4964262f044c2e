"""A training loop that marks its steps, a range and a stream by Flamegrid's package, from before CUDA starts."""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.environ["FLAMEGRID"])), "share/flamegrid/python"))
import flamegrid, torch

STEPS = 60

flamegrid.step()
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
host = torch.randn(64, 256).pin_memory()
prefetch = torch.cuda.Stream()
flamegrid.name_stream(prefetch.cuda_stream, "prefetch")
for number in range(STEPS):
    if number:
        flamegrid.step()
    with torch.cuda.stream(prefetch):
        batch = host.to("cuda", non_blocking=True)
    torch.cuda.current_stream().wait_stream(prefetch)
    with flamegrid.range("forward"):
        loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
flamegrid.step_end()
torch.cuda.synchronize()
