#include "counter_users.h"

#include <stdlib.h>

#include "proto/record.h"

struct counter_users {
	struct counter_reader *reader;   /* borrowed */
	int numbers[RECORD_DEVICES_MAX]; /* the reader's; -1: not used */
	struct counter_state states[RECORD_DEVICES_MAX];
	struct counter_sample samples[COUNTER_USERS_SAMPLES];
};

struct counter_users *counter_users_create(struct counter_reader *reader)
{
	struct counter_users *users = calloc(1, sizeof(*users));

	if (!users)
		return NULL;
	users->reader = reader;
	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
		users->numbers[i] = -1;
	return users;
}

void counter_users_leave(struct counter_users *users, uint32_t device_id)
{
	if (!users || users->numbers[device_id] < 0)
		return;
	counter_reader_leave(users->reader, users->numbers[device_id]);
	users->numbers[device_id] = -1;
}

void counter_users_destroy(struct counter_users *users)
{
	for (uint32_t i = 0; users && i < RECORD_DEVICES_MAX; i++)
		counter_users_leave(users, i);
	free(users);
}

void counter_users_use(struct counter_users *users, uint32_t device_id, uint32_t pci_domain,
		       uint32_t pci_bus, uint32_t pci_device)
{
	if (!users)
		return;
	counter_users_leave(users, device_id);
	users->numbers[device_id] =
		counter_reader_use(users->reader, pci_domain, pci_bus, pci_device);
}

bool counter_users_list(struct counter_users *users, struct message_placement *message)
{
	uint32_t nr_states = 0, count = 0;

	for (uint32_t i = 0; users && i < RECORD_DEVICES_MAX; i++) {
		if (users->numbers[i] < 0)
			continue;
		const uint32_t before = count;
		count += counter_reader_take(users->reader, users->numbers[i],
					     &users->samples[count], COUNTER_USERS_SAMPLES - count);
		for (uint32_t at = before; at < count; at++)
			users->samples[at].device_id = i;
		/* Time goes on, so a state is always news. */
		counter_reader_find(users->reader, users->numbers[i], &users->states[nr_states]);
		users->states[nr_states++].device_id = i;
	}
	if (nr_states + count == 0)
		return false;
	message->nr_counter_states = nr_states;
	message->counter_states = users->states;
	message->nr_counters = count;
	message->counters = users->samples;
	return true;
}
