# Trains with the fake libtorch: each operation stands on a line that the test knows. Arguments: libtorch_cpu.so, steps.
import ctypes
import sys
import threading
import time

from torch.autograd.function import Function  # these two are made by the test
from torch.autograd.graph import _engine_run_backward, grad

PTX = b'''.version 7.0
.target sm_70
.address_size 64
// flamegrid-fake-ns: 1000
.visible .entry forward()
{
	ret;
}
// flamegrid-fake-ns: 2000
.visible .entry backward()
{
	ret;
}
'''

cuda = ctypes.CDLL('libcuda.so.1')
torch = ctypes.CDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(None)


def check(result):
    if result:
        raise SystemExit('CUDA error %d' % result)


def function(module, name):
    found = ctypes.c_void_p()
    check(cuda.cuModuleGetFunction(ctypes.byref(found), module, name))
    return found


class Model:
    def linear(self):
        torch.fake_torch_addmm()

    def scale(self):
        torch.fake_torch_mul()

    def custom(self):
        torch.fake_torch_addmm()
        torch.fake_torch_fill()

    def forward(self):
        self.linear()
        self.scale()
        torch.fake_torch_view()  # the next launch has its number
        torch.fake_torch_fill()
        Function.apply(torch, CALLBACK(self.inner))

    def inner(self):
        torch.fake_torch_fill()


def backward(leaves, create_graph):
    if _engine_run_backward(torch, leaves, create_graph):
        raise SystemExit('a reference was not given back')


def train(model, steps):
    for _ in range(steps):
        model.forward()
        backward(2, 0)


def evicted(model):
    model.linear()
    torch.fake_torch_views((1 << 20) - 1)  # the next number has the slot of the last
    model.scale()
    backward(0, 0)


def beside(target, *arguments):
    lock = threading.Lock()
    lock.acquire()
    thread = threading.Thread(target=target, args=(*arguments, lock))
    thread.start()
    while sys._current_frames().get(thread.ident, sys._getframe()).f_code.co_name not in ('hook', 'grad'):
        time.sleep(0)  # yields
    backward(1, 0)
    lock.release()
    thread.join()


def in_a_hook(lock):
    def hook():
        lock.acquire()

    _engine_run_backward(torch, 0, 0, hook)


def two_callers():
    beside(in_a_hook)
    beside(grad)


def on_thread(context, model):
    check(cuda.cuCtxSetCurrent(context))
    model.linear()


def main(steps):
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    torch.fake_torch_kernels(function(module, b'forward'), function(module, b'backward'))
    model = Model()
    train(model, steps)
    evicted(model)
    two_callers()
    thread = threading.Thread(target=on_thread, args=(context, model))
    thread.start()
    thread.join()
    backward(0, 1)
    check(cuda.cuCtxSynchronize())


main(int(sys.argv[2]))
