# Trains a model and writes what autograd itself says of each node: its name and the line of this file that made it.
# Arguments: model (parts, reentrant, gpt, resnet50, accumulate, ddp, fsdp, compiled, autotuned, graph), steps, file for the truth.
# ddp and fsdp are one rank alone, or the ranks of torchrun. The first rank writes the file: {"nodes": [[name, line]...],
# "failed": why autograd could not be asked}.
import json
import os
import sys
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Parts(nn.Module):
    def __init__(self, reentrant=False):
        super().__init__()
        self.reentrant, self.direct = reentrant, False
        self.first = nn.Linear(512, 512)
        self.second = nn.Linear(512, 512)
        self.norm = nn.LayerNorm(512)

    def checkpointed(self, x):
        y = self.second(x)
        return torch.relu(y)

    def forward(self, x):
        x = self.first(x)
        x = F.gelu(x)
        x = x.view(-1, 8, 64)
        x = x.transpose(0, 1)
        x = x.contiguous()
        x = x.transpose(0, 1).reshape(-1, 512)
        x = F.dropout(x, 0.1)
        x = self.norm(x)
        x = Double.apply(x)
        if self.direct:
            x = self.checkpointed(x)
        else:
            x = checkpoint(self.checkpointed, x, use_reentrant=self.reentrant)
        x = x.clone()
        x[:, :16].mul_(2)
        x = torch.softmax(x, 1)
        return x


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q = q.view(batch, length, self.heads, -1).transpose(1, 2)
        k = k.view(batch, length, self.heads, -1).transpose(1, 2)
        v = v.view(batch, length, self.heads, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, width)
        return self.out(y)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return x


class Gpt(nn.Module):
    def __init__(self, width=768, heads=12, layers=6):
        super().__init__()
        self.tokens, self.places = nn.Embedding(5000, width), nn.Embedding(256, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 5000, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, 5000), tokens.view(-1))


def double_backward(x):
    x = x.detach().requires_grad_()
    y = torch.sin(x)
    z = (y * y).sum()
    g, = torch.autograd.grad(z, x, create_graph=True)
    return g.square().mean()


def make(name):
    if name in ('parts', 'reentrant'):
        model, x = Parts(name == 'reentrant').cuda(), torch.randn(1024, 512, device='cuda')
        return model, lambda: model(x).square().mean() + double_backward(x)
    if name == 'resnet50':
        import torchvision
        model, x = torchvision.models.resnet50().cuda(), torch.randn(32, 3, 224, 224, device='cuda')
        return model, lambda: model(x).square().mean()
    # The search for the best kernels takes seconds for each shape of a matrix, and layers have the same shapes.
    model, tokens = Gpt(layers=1 if name == 'autotuned' else 6).cuda(), torch.randint(5000, (8, 256), device='cuda')
    run = model
    if name in ('compiled', 'autotuned'):
        run = torch.compile(model, mode='max-autotune-no-cudagraphs' if name == 'autotuned' else 'default')
    if name in ('ddp', 'fsdp'):
        alone = {} if 'RANK' in os.environ else {'init_method': 'tcp://127.0.0.1:29512', 'rank': 0, 'world_size': 1}
        torch.distributed.init_process_group('nccl', **alone)
    if name == 'fsdp':
        from torch.distributed.fsdp import fully_shard
        for part in (*model.blocks, model):
            fully_shard(part)
    if name == 'ddp':
        run = nn.parallel.DistributedDataParallel(model)
    return model, lambda: run(tokens)


def step(loss, optimizer, passes=1):
    optimizer.zero_grad(set_to_none=True)
    for _ in range(passes):
        value = loss()
        value.backward()
    optimizer.step()


# Nodes that were made while another one was evaluated have the line of that one, unless they have one of their own.
def line_of(node):
    while node is not None:
        lines = node.metadata.get('traceback_') or []
        own = [entry for entry in lines if 'File "%s"' % __file__ in entry]
        if own:
            return int(own[-1].split('line ')[1].split(',')[0])
        node = node.metadata.get('parent_')
    return 0


# The class, as profiles have it: all nodes of Python functions are one class.
def name_of(node):
    python = isinstance(node, torch.autograd.function.BackwardCFunction)
    return 'PyNode' if python else node.name().split('::')[-1]


# Hooks of anomaly detection record which line made which node. With collectives in the backward pass all ranks need it.
def truth(loss, backward):
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        value = loss()
        waiting, seen, made = [value.grad_fn], set(), set()
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            made.add((name_of(node), line_of(node)))
            waiting.extend(following for following, _ in node.next_functions)
        if backward:
            value.backward()
    torch.cuda.synchronize()
    return made


# What autograd says of each model. Anomaly detection may not work with one, and then the file says why.
def write_truth(name, model, loss, path):
    known, failed = set(), ''
    try:
        known.update(truth(loss, name in ('ddp', 'fsdp')))
        if name in ('parts', 'reentrant'):  # what the checkpoint computes, which its own graph may hide
            model.direct = True
            known.update(truth(loss, False))
        if not any(line for _, line in known):
            failed = 'no node has a line'
    except Exception as error:
        traceback.print_exc()
        failed = '%s: %s' % (type(error).__name__, (str(error).splitlines() or [''])[0])
    if int(os.environ.get('RANK', 0)) == 0:
        with open(path, 'w') as out:
            json.dump({'nodes': sorted(known), 'failed': failed}, out)


def main(name, steps, path):
    torch.cuda.set_device(int(os.environ.get('LOCAL_RANK', 0)))
    torch.manual_seed(0)
    model, loss = make(name)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        step(loss, optimizer)
    run = lambda: step(loss, optimizer, 2 if name == 'accumulate' else 1)
    if name == 'graph':
        graph = torch.cuda.CUDAGraph()
        optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
        step(loss, optimizer)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            step(loss, optimizer)
        run = graph.replay
    torch.cuda.synchronize()
    took = []
    for _ in range(steps):
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begin)
    print('%s: median step %.0f us' % (name, sorted(took)[len(took) // 2] * 1e6))
    write_truth(name, model, loss, path)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
