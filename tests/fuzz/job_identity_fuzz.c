/* Environments of processes, in which a line's end stands for the NUL behind an entry. An entry behind what was
 * read changes nothing; numbers are none, or not negative. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/base/job_identity.h"
#include "proto/batch/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_number(int32_t number)
{
	if (number < 0 && number != MESSAGE_RANK_NONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char more[] = "\0OTHER=1";
	struct job_identity identity, again;
	char *environment = malloc(size + sizeof(more));

	if (!environment)
		abort();
	if (size)
		memcpy(environment, data, size);
	memcpy(environment + size, more, sizeof(more));
	for (size_t i = 0; i < size; i++)
		if (environment[i] == '\n')
			environment[i] = '\0';
	memset(&identity, 0, sizeof(identity));
	memset(&again, 0, sizeof(again));
	job_identity_read(environment, size, &identity);
	job_identity_read(environment, size + sizeof(more), &again);
	check_number(identity.rank);
	check_number(identity.local_rank);
	check_number(identity.world_size);
	if (!memchr(identity.job, '\0', sizeof(identity.job)) ||
	    strcmp(identity.job, again.job) != 0 || identity.rank != again.rank ||
	    identity.local_rank != again.local_rank || identity.world_size != again.world_size)
		abort();
	free(environment);
	return 0;
}
