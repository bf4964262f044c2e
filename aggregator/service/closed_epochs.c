#include "closed_epochs.h"

#include <string.h>

#include "aggregator/profile/agent_session.h"

void closed_epochs_add(struct closed_epochs *closed, struct profile_agents agents)
{
	for (uint32_t i = 0; i < profile_agents_count(agents); i++) {
		const struct agent_session *session = profile_agents_at(agents, i);
		struct closed_epoch *epoch = &closed->epochs[closed->next];

		if (!session)
			continue;
		memcpy(epoch->epoch, session->epoch, WIRE_EPOCH_SIZE);
		epoch->durable_seq = session->durable_seq;
		epoch->ended = session->ended;
		closed->next = (closed->next + 1) % CLOSED_EPOCHS_MAX;
		if (closed->count < CLOSED_EPOCHS_MAX)
			closed->count++;
	}
}

const struct closed_epoch *closed_epochs_find(const struct closed_epochs *closed,
					      const uint8_t epoch[WIRE_EPOCH_SIZE])
{
	for (uint32_t i = 0; i < closed->count; i++)
		if (memcmp(closed->epochs[i].epoch, epoch, WIRE_EPOCH_SIZE) == 0)
			return &closed->epochs[i];
	return NULL;
}
