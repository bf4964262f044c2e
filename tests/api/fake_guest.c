/* A library with the name of the guest and its entry point for programs, which counts what it is told. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/flamegrid.h"

struct fake_guest_counts {
	atomic_uint pushes, pops, steps, step_ends, starts, stops, names;
};

__attribute__((visibility("default"))) extern struct fake_guest_counts fake_guest_counts;
__attribute__((visibility("default"))) const struct flamegrid_api *flamegrid_api_1(void);

struct fake_guest_counts fake_guest_counts;

static void push(const char *name)
{
	(void)name;
	atomic_fetch_add(&fake_guest_counts.pushes, 1);
}

#define COUNTER(name, member)                                                                      \
	static void name(void)                                                                     \
	{                                                                                          \
		atomic_fetch_add(&fake_guest_counts.member, 1);                                    \
	}
COUNTER(pop, pops)
COUNTER(step, steps)
COUNTER(step_end, step_ends)
COUNTER(start, starts)
COUNTER(stop, stops)

static void name_stream(const void *stream, const char *name)
{
	(void)stream;
	(void)name;
	atomic_fetch_add(&fake_guest_counts.names, 1);
}

const struct flamegrid_api *flamegrid_api_1(void)
{
	static const struct flamegrid_api whole = {sizeof(whole), push,  pop,  step,
						   step_end,      start, stop, name_stream};
	static const struct flamegrid_api older = {.size = offsetof(struct flamegrid_api, stop)};

	errno = ENOENT;
	return getenv("FAKE_GUEST_IS_OLDER") ? &older : &whole;
}
