"""A few training steps whose memory is known to PyTorch: what its allocator took from CUDA, and what the device lost."""
import torch

torch.cuda.init()
free_before, _ = torch.cuda.mem_get_info()
torch.manual_seed(0)


def make_model():
    return torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()


def step(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()


model = make_model()
optimizer = torch.optim.AdamW(model.parameters())
for rows in (256, 1024, 4096, 1024):
    x = torch.randn(rows, 2048, device='cuda')
    for _ in range(10):
        step(model, optimizer, x)
torch.cuda.synchronize()
free_after, _ = torch.cuda.mem_get_info()
stats = torch.cuda.memory_stats()
print('reserved_peak', torch.cuda.max_memory_reserved())
print('allocated_peak', torch.cuda.max_memory_allocated())
print('segments', stats['num_device_alloc'] if 'num_device_alloc' in stats else stats['segment.all.allocated'])
print('device_used', free_before - free_after)
