#include "attach_obstacle.h"

#include "inject/base/definition_writer.h"
#include "inject/cupti/device_query.h"

bool attach_obstacle_is_there(struct definition_writer *notices, bool said)
{
	int contexts = device_query_contexts();

	if (contexts > 1 && !said)
		definition_writer_notice(notices, NOTICE_ATTACH_REFUSED, contexts,
					 "the process works on %d GPUs: to take up CUPTI in the "
					 "middle of that could stop it (start it with "
					 "--capture-range control)",
					 contexts);
	return contexts > 1;
}
