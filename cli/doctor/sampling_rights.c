#include "sampling_rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETER          "RmProfilingAdminOnly:"
#define FIRST_WITH_PERFMON 565 /* driver branch */

/* -1: not known. */
static int read_parameter(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256];
	int value = -1;

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, PARAMETER, strlen(PARAMETER)) == 0)
			value = atoi(line + strlen(PARAMETER)) != 0;
	if (file)
		fclose(file);
	return value;
}

bool sampling_rights_read(const char *parameters, const char *version, bool may_admin,
			  bool may_perfmon, char *line, size_t size)
{
	const bool takes_perfmon = atoi(version) >= FIRST_WITH_PERFMON;
	const int restricted = read_parameter(parameters);

	if (restricted < 0)
		snprintf(line, size,
			 "not known: %s cannot be read: --record stalls, --sample-gpu and "
			 "--metrics may have no counters",
			 parameters);
	else if (!restricted)
		snprintf(line, size, "allowed for all (RmProfilingAdminOnly is 0)");
	else if (may_admin || (may_perfmon && takes_perfmon))
		snprintf(line, size, "allowed for this user, who has %s",
			 may_admin ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
	else
		snprintf(line, size,
			 "not allowed: RmProfilingAdminOnly is 1, and this user has no "
			 "CAP_SYS_ADMIN%s: --record stalls and --sample-gpu sample no kernels, and "
			 "--metrics measures none",
			 takes_perfmon ? " or CAP_PERFMON" : "");
	return restricted == 0 || (restricted > 0 && (may_admin || (may_perfmon && takes_perfmon)));
}
