#include "report_straggler_result.h"

#include <stdlib.h>
#include <string.h>

void report_straggler_drop_group(struct report_straggler_communicator *of, uint32_t index)
{
	struct straggler_group *group = &of->groups[index];

	for (uint32_t i = 0; i < group->nr_members; i++)
		of->members[group->members[i]].in_group = false;
	free(group->members);
	memmove(group, group + 1, (--of->nr_groups - index) * sizeof(*group));
}
