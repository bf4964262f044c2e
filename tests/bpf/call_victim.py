"""What call_stacks_test.c watches: calls CUDA's runtime as it is told to on standard input, as call_victim.c. Each line is answered by the number of
calls and 0. Before each call it writes into the file that is its first argument where it is: the thread's number and the frames, leaf first, as
file:function:line. Each call is on the line of its note."""
import ctypes
import os
import sys
import threading

runtime = None
notes = None
children = []


def note():
    frame = sys._getframe(1)
    frames = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append("%s:%s:%d" % (os.path.basename(code.co_filename), name, frame.f_lineno))
        frame = frame.f_back
    os.write(notes, ("%d %s\n" % (threading.get_native_id(), " ".join(frames))).encode())


def wait():
    note(), runtime.cudaDeviceSynchronize()


def dive(depth):
    if depth > 1:
        return dive(depth - 1)
    wait()
    return note(), runtime.cudaDeviceSynchronize()


def generate(count):
    for _ in range(count):
        yield note(), runtime.cudaDeviceSynchronize()


def key_of(item):
    note(), runtime.cudaDeviceSynchronize()
    return item


class Thing:
    def method(self):
        for _ in map(self.inner, [1]):
            pass

    def inner(self, _):
        note(), runtime.cudaStreamSynchronize(None)


def one_round(depth):
    dive(depth)
    list(generate(3))
    sorted([1, 2], key=key_of)
    Thing().method()
    return 8


def rounds(count):
    return sum(one_round(1 + i % 40) for i in range(count))


def many(count):
    call = runtime.cudaDeviceSynchronize
    for _ in range(count):
        call()
    return count


def threads(count):
    workers = [threading.Thread(target=rounds, args=(count,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 4 * 8 * count


def fork(count):
    """The child lives until it is reaped."""
    done, ready = os.pipe()
    wait_end, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        rounds(count)
        os.close(ready)
        os.read(wait_end, 1)
        os._exit(0)
    os.close(ready)
    os.read(done, 1)
    children.append((child, end))
    return 8 * count


def reap(_):
    while children:
        child, end = children.pop()
        os.close(end)
        if os.waitpid(child, 0)[1]:
            sys.exit(4)
    return 0


def load(path):
    global runtime
    runtime = ctypes.CDLL(path)
    memory = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)):
        sys.exit(3)
    return 0


def probed(_):
    """As call_victim.c."""
    functions = runtime.cudaLaunchKernel, runtime.cuLaunchKernel
    addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    return int(all(ctypes.c_ubyte.from_address(address).value == 0xCC for address in addresses))


ORDERS = {"rounds": rounds, "many": many, "threads": threads, "fork": fork, "reap": reap, "probed": probed}


def main():
    global notes
    notes = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    for line in iter(sys.stdin.readline, "end\n"):
        word, argument = (line.split() + ["0"])[:2]
        calls = load(argument) if word == "load" else ORDERS[word](int(argument))
        print(calls, 0, flush=True)
    os._exit(7)


if __name__ == "__main__":
    main()
