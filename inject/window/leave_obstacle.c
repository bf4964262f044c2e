#include "leave_obstacle.h"

#include <stdatomic.h>

#include "inject/beside/shared_session.h"
#include "inject/beside/shared_subscriber.h"
#include "inject/cupti/context_count.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/outstanding_launches.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/sampling/kernel_sampler.h"

static atomic_bool has_lasting_kernels;

void leave_obstacle_outstanding(void)
{
	if (outstanding_launches_last())
		atomic_store(&has_lasting_kernels, true);
}

enum leave_obstacle leave_obstacle_now(const struct cupti_library *library, bool by_profiler)
{
	if (!library->finalize)
		return LEAVE_OBSTACLE_LIBRARY;
	if (shared_subscriber_is_there() || shared_session_is_on())
		return LEAVE_OBSTACLE_SHARED;
	if (context_count_has_several())
		return LEAVE_OBSTACLE_CONTEXTS;
	if (by_profiler)
		return LEAVE_OBSTACLE_PROFILER;
	if (kernel_sampler_has_begun())
		return LEAVE_OBSTACLE_SAMPLING;
	if (kernel_metrics_has_begun())
		return LEAVE_OBSTACLE_METRICS;
	return atomic_load(&has_lasting_kernels) ? LEAVE_OBSTACLE_LASTING : LEAVE_OBSTACLE_NONE;
}

const char *leave_obstacle_text(enum leave_obstacle obstacle, bool outstanding)
{
	switch (obstacle) {
	case LEAVE_OBSTACLE_LIBRARY:
		return "this CUPTI cannot be left";
	case LEAVE_OBSTACLE_SHARED:
		return "another profiler shares it";
	case LEAVE_OBSTACLE_CONTEXTS:
		return "the process works on several GPUs, or in parts of one";
	case LEAVE_OBSTACLE_PROFILER:
		return "it tells when the program calls cudaProfilerStart";
	case LEAVE_OBSTACLE_SAMPLING:
		return "it has sampled kernels";
	case LEAVE_OBSTACLE_METRICS:
		return "it has measured kernels (--metrics)";
	case LEAVE_OBSTACLE_LASTING:
		return "a kernel lasts, and may be waiting for the host";
	case LEAVE_OBSTACLE_NONE:
		break;
	}
	if (outstanding_launches_has_unknown())
		return "no call waited for all of the GPU since the window began";
	return outstanding ? "GPU work was outstanding at every call that waited"
			   : "no call waited for the GPU within a second";
}
