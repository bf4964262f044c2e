# Python processes on fake CUDA: threads, multiprocessing by spawn and by fork.
import ctypes
import multiprocessing
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
'''


def work(count):
    cuda = ctypes.CDLL('libcuda.so.1')
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    results = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
               cuda.cuModuleLoadData(ctypes.byref(module), PTX),
               cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b'gemm')]
    results += [cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) for _ in range(count)]
    results.append(cuda.cuCtxSynchronize())
    return max(results)


def in_processes(method):
    with multiprocessing.get_context(method).Pool(3) as pool:
        print(method, pool.map(work, [20, 30, 40]))
        pool.close()
        pool.join()


def in_threads():
    threads = [threading.Thread(target=work, args=(50,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print('threads', work(10))


if __name__ == '__main__':
    if sys.argv[1] == 'threads':
        in_threads()
    else:
        in_processes(sys.argv[1])
