#include "agent_notices.h"

#include <string.h>

#include "proto/counter_refusal.h"

#define NOT_READ                                                                                   \
	"its command line or its rank are not known: its memory could not be read, or not in time"

void agent_notices_unread(struct process_description *description)
{
	if (process_description_is_late(description))
		process_description_add_notice(description, NOT_READ, strlen(NOT_READ));
}

int agent_notices_counters(struct process_description *description,
			   const struct message_placement *placement,
			   void (*say)(void *context, const char *line), void *context)
{
	for (uint32_t i = 0; i < placement->nr_counter_states; i++) {
		const struct counter_state *state = &placement->counter_states[i];
		char line[COUNTER_REFUSAL_SIZE];

		if (state->refusal == COUNTER_SAMPLED)
			continue;
		counter_refusal_notice(state->device_id, state->refusal, line, sizeof(line));
		const int r = process_description_add_notice(description, line, strlen(line));
		if (r < 0)
			return r;
		if (r == 1 && say)
			say(context, line);
	}
	return 0;
}
