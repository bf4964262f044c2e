// Kernels whose every chain of inlined functions cubin_lines_compiled_test knows, by line.
namespace steps {

__device__ __forceinline__ float leaf(const float *from, int at)
{
	return from[at] * 3.0f;
}

__device__ __forceinline__ float middle(const float *from, int at)
{
	float sum = leaf(from, at + 32);
	return sum * from[at];
}

template <int Width> __device__ __forceinline__ float outer(const float *from, int at)
{
	return middle(from, at * Width) + 1.0f;
}

__device__ __noinline__ float apart(const float *from, int at)
{
	return leaf(from, at) + 2.0f;
}

template <int Width> __global__ void scaled(float *to, const float *from)
{
	int at = threadIdx.x;
	to[at] = outer<Width>(from, at);
	to[at + 64] = leaf(from, at + 7);
}

template __global__ void scaled<3>(float *to, const float *from);
template __global__ void scaled<5>(float *to, const float *from);

} // namespace steps

extern "C" __global__ void plain(float *to, const float *from)
{
	int at = threadIdx.x;
	to[at] = steps::middle(from, at);
	to[at + 32] = steps::apart(from, at + 1);
}

extern "C" __global__ void divided(float *to, const float *from)
{
	to[threadIdx.x] =
		from[threadIdx.x] / to[threadIdx.x];
}
