/* Whether running kernels can be sampled on this host (run --record stalls), or measured (run --metrics). NVIDIA's
 * driver tells who may read a GPU's performance counters: RmProfilingAdminOnly in its parameters. Any thread. */
#ifndef SAMPLING_RIGHTS_H
#define SAMPLING_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#define SAMPLING_RIGHTS_PARAMETERS "/proc/driver/nvidia/params"

/* Writes a line that says whether kernels can be sampled, or why not. may_admin, may_perfmon: what the user has of
 * CAP_SYS_ADMIN and CAP_PERFMON, which the driver takes from version 565 on; version: of the driver, "": not known.
 * parameters: the file above, or a test's. Returns whether they are known to be. */
bool sampling_rights_read(const char *parameters, const char *version, bool may_admin,
			  bool may_perfmon, char *line, size_t size);

#endif
