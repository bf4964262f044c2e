/* API calls and launch configurations of a profile, summed over processes, with names for readers. Used by one
 * thread. */
#ifndef REPORT_STATISTICS_H
#define REPORT_STATISTICS_H

#include <stdint.h>

#include "report/statistics/occupancy.h"

#include "proto/kernel_config.h"
#include "report/names/demangle.h"
#include "report/profile/profile.h"

/* The calls of one function in all processes. */
struct report_call {
	const char *name;
	uint32_t domain; /* enum statistics_domain */
	uint64_t count, total_ns, min_ns, max_ns;
	uint64_t errors;
};

/* The calls of one function in one process that returned one error. */
struct report_failure {
	const char *name;
	uint32_t domain, error;
	const char *error_name; /* "": not known */
	const char *host;
	int32_t rank; /* REPORT_RANK_NONE */
	uint32_t pid;
	uint64_t count;
};

/* The launches of one kernel with one configuration in all processes, on all GPUs of one type. */
struct report_config {
	const char *name;           /* "": lost */
	const char *device;         /* the GPU's name; "": not known */
	struct kernel_config shape; /* device_id and name_id are 0 */
	struct device_limits limits;
	uint64_t count, total_ns, min_ns, max_ns;
	int has_occupancy; /* 0: the GPU is not known */
	struct occupancy occupancy;
};

struct report_statistics {
	/* owns, as all arrays; by domain, the runtime's first, then the longest first */
	struct report_call *calls;
	uint32_t nr_calls;
	struct report_failure *failures; /* the most frequent first */
	uint32_t nr_failures;
	struct report_config *configs; /* the longest first */
	uint32_t nr_configs;
	/* steps (flamegrid_step()) of the process that marked most, of the one that marked fewest, and of all together;
	 * 0: none marks steps */
	uint64_t marked_steps, least_marked, all_marked;
	uint32_t nr_marking; /* processes that mark steps */
	bool is_marking_cut; /* one of them ended without a goodbye, so that its last steps may be missing */
	char **texts; /* the texts that the rows borrow */
	uint32_t nr_texts;
};

/* demangle is for kernels' names. 0; -EPROTO: the profile names things that it does not hold; -ENOMEM. On error
 * *statistics is NULL. */
int report_statistics_create(const struct profile *profile, enum demangle_mode demangle,
			     struct report_statistics **statistics);
void report_statistics_destroy(struct report_statistics *statistics); /* accepts NULL */

/* Returns the share of the multiprocessor's warps that are in use, in percent. */
double report_statistics_percent(const struct report_config *config);

#endif
