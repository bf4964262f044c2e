# Launches kernels through the driver API from Python functions whose names and lines the test knows. ctypes lets the GIL
# go for each call, as PyTorch does. Argument: how many launches of each kind.
import ctypes
import sys
import threading

PTX = b'''.version 7.0
.target sm_70
.address_size 64
// flamegrid-fake-ns: 1000
.visible .entry gemm()
{
	ret;
}
// flamegrid-fake-ns: 2000
.visible .entry scale()
{
	ret;
}
'''

cuda = ctypes.CDLL('libcuda.so.1')


def check(result):
    if result:
        raise SystemExit('CUDA error %d' % result)


def function(module, name):
    found = ctypes.c_void_p()
    check(cuda.cuModuleGetFunction(ctypes.byref(found), module, name))
    return found


def launch(kernel):
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None))


class Model:
    def __init__(self, module):
        self.gemm = function(module, b'gemm')
        self.scale = function(module, b'scale')

    def forward(self):
        launch(self.gemm)

    def layers(self, count):
        for _ in range(count):
            launch(self.scale)
            yield


def train(model, count):
    for _ in range(count):
        model.forward()
    for _ in model.layers(count):
        pass
    sorted(range(2), key=lambda item: launch(model.gemm) or item)


def on_thread(context, model, count):
    check(cuda.cuCtxSetCurrent(context))
    train(model, count)


def main(count):
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    model = Model(module)
    train(model, count)
    thread = threading.Thread(target=on_thread, args=(context, model, count))
    thread.start()
    thread.join()
    check(cuda.cuCtxSynchronize())


main(int(sys.argv[1]))
