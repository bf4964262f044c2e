#include "waiting_launches.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "inject/launch/launch_cbid.h"
#include "inject/metrics/waiting_work.h"

static atomic_bool has_nccl;

void waiting_launches_look(void)
{
	/* It is not closed again: programs do not unload it, and dlclose() needs glibc 2.34. */
	if (!atomic_load(&has_nccl) && dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD))
		atomic_store(&has_nccl, true);
}

bool waiting_launches_has(uint32_t cbid, const char *kernel)
{
	const bool is_graph = cbid == LAUNCH_CBID_GRAPH || cbid == LAUNCH_CBID_GRAPH_T;

	if (waiting_work_is(kernel))
		atomic_store(&has_nccl, true);
	return waiting_work_is(kernel) || (is_graph && atomic_load(&has_nccl));
}
