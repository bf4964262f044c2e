# Trains with operators of a real PyTorch. Arguments: libtorch_device.so, the file for the truth: for each node of the
# backward passes its kernel, its class and the Python frames that made it, by PyTorch's own anomaly mode.
import ctypes
import json
import os
import sys
import time

import torch
from torch.autograd import Function
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

CHECKPOINT = {} if torch.__version__ < '2' else {'use_reentrant': True}
NODES_MAX = 1000
PTX = '.version 7.0\n.target sm_70\n.address_size 64\n' + ''.join(
    '// flamegrid-fake-ns: 1000\n.visible .entry %s()\n{\n\tret;\n}\n' % name
    for name in ['other', 'evaluation'] + ['node_%d' % i for i in range(NODES_MAX)])

cuda = ctypes.CDLL('libcuda.so.1')
device = ctypes.CDLL(sys.argv[1])
device.torch_device_evaluated.restype = ctypes.c_void_p
device.torch_device_launches.restype = ctypes.c_uint64


def check(result):
    if result:
        raise SystemExit('CUDA error %d' % result)


class Kernels:
    def __init__(self):
        context, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuInit(0))
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(cuda.cuCtxSetCurrent(context))
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), PTX.encode()))
        device.torch_device_start(context, self.function('other'), self.function('evaluation'))

    def function(self, name):
        found = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(found), self.module, name.encode()))
        return found


def guest_threads():
    for task in os.listdir('/proc/self/task'):
        with open('/proc/self/task/%s/comm' % task) as name:
            if name.read().startswith('flamegrid'):
                yield '/proc/self/task/%s/stat' % task


def state(path):
    with open(path) as stat:
        return stat.read().rpartition(')')[2].split()[0]


def await_tables():
    """Waits until the guest's thread has built all tables by which stacks are walked: then launches let it sleep."""
    sleeps = 0
    while sleeps < 3:
        torch.relu(torch.ones(1))
        while any(state(path) != 'S' for path in guest_threads()):
            time.sleep(0)  # yields
        sleeps += any(guest_threads())


class Truth:
    """Gives each node of a graph a kernel. Keeps its class, and where it was made by PyTorch's own word."""

    def __init__(self, kernels):
        self.kernels, self.nodes, self.rows = kernels, set(), []

    def add(self, result, kind):
        waiting = [result.grad_fn]
        while waiting:
            node = waiting.pop()
            if node in self.nodes:
                continue
            self.nodes.add(node)  # it stays, and so does its address
            if not isinstance(node, Function):
                # The Python object of a node of PyTorch's own begins with a pointer to it.
                address = ctypes.c_void_p.from_address(id(node) + object.__basicsize__)
                self.name(node, address, kind, node.name().split('::')[-1])
            waiting += [next_node for next_node, _ in node.next_functions if next_node]

    def name(self, node, address, kind, its_class):
        kernel = 'node_%d' % len(self.rows)
        device.torch_device_add_node(address, self.kernels.function(kernel))
        made = node
        while kind == 'derivative' and 'parent_' in made.metadata:  # the node in whose evaluation this one was made
            made = made.metadata['parent_']
        self.rows.append({'kernel': kernel, 'kind': kind, 'class': its_class,
                          'frames': ''.join(made.metadata.get('traceback_', []))})


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        ctx.truth.name(ctx, ctypes.c_void_p(device.torch_device_evaluated()), 'once', 'PyNode')
        return gradient * 2


class TwiceInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def pack(x):
    """Launches with an operator in place, within another operator."""
    return torch.empty_like(x).copy_(x)


class Model(torch.nn.Module):
    def __init__(self, truth):
        super().__init__()
        self.truth = truth
        self.embedding = torch.nn.Embedding(10, 16)
        self.linear = torch.nn.Linear(16, 16)
        self.norm = torch.nn.LayerNorm(16)
        self.batch_norm = torch.nn.BatchNorm1d(16)
        self.convolution = torch.nn.Conv1d(4, 4, 3, padding=1)
        self.recurrent = torch.nn.GRU(16, 16)
        self.weight = torch.nn.Parameter(torch.randn(16, 16))

    def activations(self, x):
        x = torch.relu(x)
        x = functional.gelu(x)
        x = torch.sigmoid(x)
        x = torch.tanh(x)
        return torch.exp(x * 0.1)

    def arithmetic(self, x):
        x = x + self.weight[0]
        x = x * self.weight[1]
        x = x - 0.5
        x = x / (self.weight[2].pow(2) + 1)
        return -x

    def shapes(self, x):
        x = x.view(4, 2, 16)
        x = x.transpose(1, 2)
        x = x.reshape(8, 16)
        x = torch.cat([x[:, :4], x[:, 4:]], 1)
        x = torch.stack([x, x]).mean(0)
        return x.unsqueeze(0).expand(2, 8, 16).sum(0)

    def attention(self, x):
        q = x.view(4, 2, 16)
        scores = torch.bmm(q, q.transpose(1, 2))
        scores = scores.masked_fill(torch.eye(2).bool(), 0.0)
        scores = torch.softmax(scores, -1)
        scores = functional.dropout(scores, 0.5)
        return torch.matmul(scores, q).view(8, 16)

    def in_place(self, x):
        x = x.clone()
        x[:, :8].mul_(2)
        x.add_(1)
        x.t().relu_()
        return x

    def views(self, x):
        x = x.clone()
        x[:2] = self.weight[:2]
        x[3] = 0.5
        x[:, 8:].copy_(self.weight[:8, 8:])
        x[1:][torch.arange(2)] = self.weight[3]
        upper, lower = x[:4], x[4:]
        upper.mul_(2)
        lower.add_(upper)  # autograd makes a new node for the view first
        functional.dropout(x[2:4], 0.5, inplace=True)
        x[5:].clamp_(-2, 2).mul_(self.weight[5:8])
        torch._foreach_mul_([x[:1], x[1:2]], 0.5)
        x[:, :0].mul_(3)  # launches nothing
        x.view(2, 4, 16)[0].transpose(0, 1).div_(3)
        functional.relu(x[3:].t(), inplace=True)
        return x

    def hidden_views(self, x):
        """In place on views, by functions that launch before or instead of the operator itself."""
        x = x.clone()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            x[:2].mul_(self.weight[:2].detach())
        TwiceInPlace.apply(x[2:4])
        return x

    def losses(self, x, target):
        y = x.detach()
        total = functional.mse_loss(x, y + 1)
        total = total + functional.l1_loss(x, y * 2)
        total = total + functional.smooth_l1_loss(x, y - 1)
        total = total + functional.binary_cross_entropy_with_logits(x, torch.sigmoid(y))
        total = total + functional.kl_div(functional.log_softmax(x, 1), torch.softmax(y, 1))
        total = total + functional.cross_entropy(x, target)
        total = total + torch.logsumexp(x, 1).mean()
        total = total + x.var() + x.std()
        total = total + x.prod(1).sum()
        total = total + torch.cdist(x, y + 1).sum()
        return total + x.norm() + x.max() + x.abs().sum()

    def choices(self, x):
        x = torch.where(x > 0, x, x * 0.1)
        x = x.gather(1, torch.arange(16).expand(8, 16))
        x = torch.clamp(x, -2, 2)
        x = torch.maximum(x, x.detach() * 0.5)
        x = x.index_select(0, torch.arange(8))
        x = x[torch.arange(7, -1, -1)]
        x = x.scatter(1, torch.zeros(8, 1, dtype=torch.long), 0.5)
        x = x.sort(1)[0]
        x = x.topk(16, 1)[0]
        x = x.cumsum(1)
        return x.masked_select(torch.ones(8, 16).bool()).reshape(8, 16)

    def images(self, x):
        x = x.view(1, 4, 4, 8)
        x = functional.pad(x, (1, 1, 1, 1))
        x = functional.max_pool2d(x, 2)
        x = functional.interpolate(x, (6, 10))
        x = functional.avg_pool2d(x, 2)
        x = functional.group_norm(x, 2)
        x = x.flip(0).roll(1, 2).tril()
        x = x.repeat(1, 2, 1, 1).flatten()[:96]
        x = torch.nn.functional.adaptive_avg_pool1d(x.view(1, 1, 96), 128).view(8, 16)
        return x.double().float()

    def block(self, x):
        with torch.autograd.detect_anomaly():
            x = self.linear(x)
            x = torch.relu(x)
            x = x * 0.5
        if self.in_backward:
            self.truth.add(x, 'again')
        return x

    def forward(self, tokens, target):
        x = self.embedding(tokens)
        x = self.linear(x)
        x = self.norm(x)
        x = x @ self.weight
        x = self.activations(x)
        x = self.arithmetic(x)
        x = self.shapes(x)
        x = self.attention(x)
        x = self.in_place(x)
        x = self.views(x)
        x = self.hidden_views(x)
        x = Twice.apply(x)
        x.grad_fn.truth = self.truth
        x = self.convolution(x.view(2, 4, 16)).view(8, 16)
        x = self.batch_norm(x)
        x = checkpoint(self.block, x, **CHECKPOINT)
        x = self.choices(x)
        x = self.images(x)
        x = self.recurrent(x.view(4, 2, 16))[0].reshape(8, 16)
        x = torch.einsum('ij,kj->ik', x, self.weight)
        return functional.nll_loss(functional.log_softmax(x, 1), target) + self.losses(x, target) * 0.01

    def smooth(self, x):
        x = functional.silu(self.linear(x))
        x = torch.tanh(x)
        return x.pow(3).sum()

    def smooth_views(self, x):
        x = torch.exp(self.linear(x) * 0.1)
        x = x / (x + 2)
        x = x.clone()
        x[:, :8].mul_(self.weight[0, :8])
        x[2:4] = x.clone()[4:6] * self.weight[1]
        x = torch.cat([x[:4].t(), (x[4:] * x[:4]).t()])
        x = torch.softmax(x @ self.weight[:4], 1)
        return torch.log(x.sum() + 3) * (x * x).mean() + (x.t() @ x).square().sum()


def step(model, tokens, target):
    model.in_backward = False
    with torch.autograd.detect_anomaly():
        loss = model(tokens, target)
    model.truth.add(loss, 'once')
    model.in_backward = True
    loss.backward()


def step_with_derivative(model, function):
    with torch.autograd.detect_anomaly():
        loss = function(torch.ones(8, 16))
    model.truth.add(loss, 'once')
    with torch.autograd.detect_anomaly():
        gradient, = torch.autograd.grad(loss, model.linear.weight, create_graph=True)
    model.truth.add(gradient, 'derivative')
    gradient.sum().backward()


def main(path):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    truth = Truth(Kernels())
    await_tables()
    model = Model(truth)
    tokens, target = torch.randint(10, (8,)), torch.randint(16, (8,))
    for used in (1, 0):
        device.torch_device_set_engine_thread(used)
        step(model, tokens, target)
        step_with_derivative(model, model.smooth)
        step_with_derivative(model, model.smooth_views)
    check(cuda.cuCtxSynchronize())
    with open(path, 'w') as file:
        json.dump({'launches': device.torch_device_launches(), 'nodes': truth.rows, 'torch': torch.__version__}, file)


main(sys.argv[2])
