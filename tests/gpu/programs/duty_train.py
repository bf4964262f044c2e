# The training step of tiny_train.py for SECONDS: steps a second, over all of them.
import sys, time, torch
seconds = float(sys.argv[1])
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(20)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(64, 256, device='cuda')

def step():
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()

for _ in range(50):
    step()
torch.cuda.synchronize()
print('ready', flush=True)
begin, steps = time.perf_counter(), 0
while time.perf_counter() - begin < seconds:
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    steps += 20
print('steps/s %.3f' % (steps / (time.perf_counter() - begin)))
