# A training whose loader is slow: each step waits for its batch, and then launches a few kernels. Arguments: the number of
# steps, and how long the loader waits for each, in ms.
import ctypes
import sys
import time

PTX = b'''.version 7.0
.target sm_70
.address_size 64
// flamegrid-fake-ns: 400000
.visible .entry gemm()
{
	ret;
}
'''

cuda = ctypes.CDLL('libcuda.so.1')
steps, wait_ms = int(sys.argv[1]), int(sys.argv[2])


def check(result):
    if result:
        raise SystemExit('CUDA error %d' % result)


def fetch_batch():
    time.sleep(wait_ms / 1000)


def step(kernel):
    check(cuda.cuLaunchKernel(kernel, 264, 1, 1, 256, 1, 1, 0, None, None, None))
    check(cuda.cuCtxSynchronize())


context, module, gemm = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(gemm), module, b'gemm'))
for _ in range(steps):
    fetch_batch()
    step(gemm)
