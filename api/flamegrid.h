/* Tells Flamegrid what a program does: ranges, steps, what to capture, and the names of streams.
 *
 * A program that includes this header needs no library of Flamegrid's to build, link or run. The first call looks for
 * the guest, the library that `flamegrid run` loads. Without a guest every function returns at once, after a few
 * nanoseconds. With a guest each function does what its equivalent of NVTX or CUDA does; the options of `flamegrid run`
 * decide what comes of it. A call may come before CUDA starts.
 *
 * Threads: any thread may call at any time. Do not call in a signal handler, nor between vfork() and exec.
 * Errors: none is returned, and errno stays. A child that a profiled process has forked may call, without effect.
 * Text: names are UTF-8, are copied, and are cut at 192 bytes. NULL is the empty name.
 *
 * The guest is loaded already, or the environment names it (CUDA_INJECTION64_PATH) at the first call. That call decides
 * for the life of the process, for each program or library that includes this header. A program that is linked
 * statically, or that runs with more rights than its caller, has no guest. */
#ifndef FLAMEGRID_H
#define FLAMEGRID_H

#include <stddef.h>

#ifdef __linux__
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#endif

/* The functions of the guest, which programs reach through the functions below. New ones are added at its end. */
struct flamegrid_api {
	size_t size; /* bytes of this struct that the guest has */
	void (*range_push)(const char *name);
	void (*range_pop)(void);
	void (*step)(void);
	void (*step_end)(void);
	void (*start)(void);
	void (*stop)(void);
	void (*name_stream)(const void *stream, const char *name);
};

#ifdef __cplusplus
#define FLAMEGRID_FUNCTION inline __attribute__((visibility("hidden")))
extern "C" {
#else
#define FLAMEGRID_FUNCTION static inline __attribute__((unused))
#endif

/* One for each program or library. NULL: nobody has looked yet; FLAMEGRID_NO_GUEST: there is none. */
__attribute__((weak, visibility("hidden"))) const struct flamegrid_api *flamegrid_found;
#define FLAMEGRID_NO_GUEST ((const struct flamegrid_api *)(const void *)&flamegrid_found)

#ifdef __linux__
/* Weak, so that an older C library is not asked for libdl. A program that is linked statically has no dlopen that dlsym
 * would find. */
static __typeof__(dlsym) flamegrid_dlsym __attribute__((weakref("dlsym"), unused));

FLAMEGRID_FUNCTION void *flamegrid_open_guest(void)
{
	const char *file = "libflamegrid_inject.so", *path, *name;
	void *(*load)(const char *file_name, int mode), *guest, *symbol;

	symbol = flamegrid_dlsym ? flamegrid_dlsym(NULL, "dlopen") : NULL;
	if (!symbol || getauxval(AT_SECURE))
		return NULL;
	memcpy(&load, &symbol, sizeof(load));
	guest = load(file, RTLD_NOW | RTLD_NOLOAD);
	path = getenv("CUDA_INJECTION64_PATH");
	if (guest || !path)
		return guest;
	name = strrchr(path, '/');
	return strcmp(name ? name + 1 : path, file) == 0 ? load(path, RTLD_NOW) : NULL;
}
#endif

__attribute__((cold)) FLAMEGRID_FUNCTION const struct flamegrid_api *flamegrid_look_up(void)
{
	const struct flamegrid_api *api = NULL;
#ifdef __linux__
	const struct flamegrid_api *(*get)(void);
	int saved_errno = errno;
	void *guest = flamegrid_open_guest();
	void *symbol = guest ? flamegrid_dlsym(guest, "flamegrid_api_1") : NULL;

	memcpy(&get, &symbol, sizeof(get));
	if (get)
		api = get();
	errno = saved_errno;
#endif
	if (!api || api->size < sizeof(*api))
		api = FLAMEGRID_NO_GUEST;
	__atomic_store_n(&flamegrid_found, api, __ATOMIC_RELEASE);
	return api;
}

FLAMEGRID_FUNCTION const struct flamegrid_api *flamegrid_guest(void)
{
	const struct flamegrid_api *api = __atomic_load_n(&flamegrid_found, __ATOMIC_ACQUIRE);

	if (__builtin_expect(!api, 0))
		api = flamegrid_look_up();
	return api == FLAMEGRID_NO_GUEST ? NULL : api;
}

/* Opens a range in the calling thread; nvtxRangePushA() does the same. GPU work that the thread launches in it stands
 * under it (--record nvtx). Ranges may be nested, 64 deep. --capture-range nvtx:NAME captures while it is open;
 * --metrics sol --ranges NAME measures it. */
FLAMEGRID_FUNCTION void flamegrid_range_push(const char *name)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->range_push(name);
}

/* Closes the calling thread's innermost range, as nvtxRangePop() does. Does nothing if none is open. */
FLAMEGRID_FUNCTION void flamegrid_range_pop(void)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->range_pop();
}

/* Begins a step of the calling thread, and ends the thread's step before. A step is a range of the name "step", which
 * range_pop does not close. --step-range step --every-steps N captures one step of N. flamegrid diff and flamegrid
 * check count the calls, and compare times of one step. Call it in one thread. In several threads, steps that overlap
 * are one for --every-steps. */
FLAMEGRID_FUNCTION void flamegrid_step(void)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->step();
}

/* Ends the calling thread's step, for work after it that belongs to no step. Does nothing if none is open. A thread's
 * end ends its step, too. */
FLAMEGRID_FUNCTION void flamegrid_step_end(void)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->step_end();
}

/* Begins to capture the process, as cudaProfilerStart() does, if it runs with --capture-range profiler. With
 * --every-steps N and no --step-range it begins a step, of which one in N is captured. Otherwise it has no effect. To
 * open the window may take milliseconds. Unlike cudaProfilerStart() it does not start CUDA. */
FLAMEGRID_FUNCTION void flamegrid_start(void)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->start();
}

/* Ends what flamegrid_start() or cudaProfilerStart() began. Each start needs a stop; one without a start does
 * nothing. */
FLAMEGRID_FUNCTION void flamegrid_stop(void)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->stop();
}

/* Names a stream in reports, as nvtxNameCudaStreamA() does (--record nvtx). stream: a CUstream or cudaStream_t that
 * exists and was created while the process was captured. Other streams, and the default ones, stay as they are. */
FLAMEGRID_FUNCTION void flamegrid_name_stream(const void *stream, const char *name)
{
	const struct flamegrid_api *api = flamegrid_guest();

	if (api)
		api->name_stream(stream, name);
}

#ifdef __cplusplus
}

namespace flamegrid
{
/* A range as long as the object lives, on the thread that made it. */
class range
{
      public:
	explicit range(const char *name)
	{
		flamegrid_range_push(name);
	}
	~range()
	{
		flamegrid_range_pop();
	}
	range(const range &) = delete;
	range &operator=(const range &) = delete;
};
} // namespace flamegrid
#endif

#endif
