"""A stand-in for the file of that name: functions with the names of vLLM's, which launch kernels of known durations."""

LAYERS = 3
NS = {"prefill": 5000, "mixed": 4000, "decode": 1500, "dummy": 700, "sampling": 300}


class GPUModelRunner:
    def __init__(self, gpu, sizes):
        self.gpu, self.sizes, self.graphs = gpu, sizes, {}

    def _layers(self, kind, ns):
        for _ in range(LAYERS):
            self.gpu.kernel(kind, ns)

    def _dummy_run(self, size, kind="dummy", ns=NS["dummy"]):
        self._layers(kind, ns)

    def capture_model(self):
        for size in self.sizes:
            self._dummy_run(size)
            with self.gpu.range(f"capture_{size}_FULL"):
                self.gpu.begin_capture()
                self._dummy_run(size, f"decode_{size}", 100 * size)
                self.graphs[size] = self.gpu.end_capture()

    def execute_model(self, kind, requests):
        size = min((size for size in self.sizes if size >= requests), default=0)
        if kind == "decode" and size:
            self.gpu.replay(self.graphs[size])
            return f"decode {size}", 100 * size * LAYERS
        self._layers(kind, NS[kind])
        most = 1 << (requests - 1).bit_length()
        return f"decode {most // 2 + 1}-{most}" if kind == "decode" else kind, NS[kind] * LAYERS

    def sample_tokens(self):
        self.gpu.kernel("sampling", NS["sampling"])
