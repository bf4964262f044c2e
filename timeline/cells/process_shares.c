#include "process_shares.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"

/* The share of a process is that of its devices, if one of them has a share already. */
static uint32_t share_of(const struct roster_process *process, const uint8_t *owners,
			 uint32_t nr_devices, uint32_t otherwise)
{
	for (uint32_t i = 0; i < process->nr_devices; i++) {
		const uint32_t device = process->devices[i].device;

		if (device && device <= nr_devices && owners[device - 1])
			return owners[device - 1] - 1u;
	}
	return otherwise;
}

/* Returns whether no other share has one of the process's devices, which become this one's. */
static bool own_devices(const struct roster_process *process, uint8_t *owners, uint32_t nr_devices,
			uint32_t share)
{
	bool are_own = true;

	for (uint32_t i = 0; i < process->nr_devices; i++) {
		const uint32_t device = process->devices[i].device;

		if (!device || device > nr_devices)
			continue;
		are_own &= !owners[device - 1] || owners[device - 1] == share + 1;
		owners[device - 1] = (uint8_t)(share + 1);
	}
	return are_own;
}

int process_shares_init(struct process_shares *shares, const struct roster *roster)
{
	const struct roster_size size = roster_size(roster);
	uint8_t *owners = calloc(size.devices + 1ull, 1); /* 1 + share */
	bool are_apart = true;

	*shares = (struct process_shares){.of = calloc(size.processes + 1ull, 1), .nr = 1};
	if (size.processes > 1)
		shares->nr =
			size.processes < PROCESS_SHARES_MOST ? size.processes : PROCESS_SHARES_MOST;
	for (uint32_t id = 1; owners && shares->of && id <= size.processes; id++) {
		const struct roster_process *process = roster_process(roster, id);
		const uint32_t own = (uint32_t)((uint64_t)(id - 1) * shares->nr / size.processes);
		const uint32_t share = share_of(process, owners, size.devices, own);

		are_apart &= own_devices(process, owners, size.devices, share);
		shares->of[id - 1] = (uint8_t)share;
	}
	if (!owners || !shares->of) {
		free(owners);
		return -ENOMEM;
	}
	free(owners);
	if (!are_apart) {
		memset(shares->of, 0, size.processes);
		shares->nr = 1;
	}
	return 0;
}

void process_shares_fini(struct process_shares *shares)
{
	free(shares->of);
	*shares = (struct process_shares){0};
}
