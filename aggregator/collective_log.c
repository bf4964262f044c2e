#include "collective_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct collective_log {
	uint32_t *defined; /* owns; defined[process - 1] */
	uint32_t nr_processes;
	struct collective_log_communicator *communicators; /* owns */
	uint32_t nr_communicators, max_communicators;
	struct collective_log_call *calls; /* owns */
	uint32_t nr_calls, max_calls;
};

struct collective_log *collective_log_create(void)
{
	return calloc(1, sizeof(struct collective_log));
}

void collective_log_destroy(struct collective_log *log)
{
	if (!log)
		return;
	free(log->defined);
	free(log->communicators);
	free(log->calls);
	free(log);
}

uint32_t collective_log_defined(const struct collective_log *log, uint32_t process)
{
	return process && process <= log->nr_processes ? log->defined[process - 1] : 0;
}

static int reserve_process(struct collective_log *log, uint32_t process)
{
	if (process <= log->nr_processes)
		return 0;
	uint32_t more = log->nr_processes < 16 ? 16 : 2 * log->nr_processes;
	if (more < process)
		more = process;
	uint32_t *defined = realloc(log->defined, more * sizeof(*defined));
	if (!defined)
		return -ENOMEM;
	memset(defined + log->nr_processes, 0, (more - log->nr_processes) * sizeof(*defined));
	log->defined = defined;
	log->nr_processes = more;
	return 0;
}

int collective_log_put(struct collective_log *log, uint32_t process,
		       const struct communicator *communicator)
{
	int error = reserve_process(log, process);

	if (error)
		return error;
	if (log->nr_communicators == log->max_communicators) {
		uint32_t max = log->max_communicators ? 2 * log->max_communicators : 64;
		struct collective_log_communicator *more =
			realloc(log->communicators, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		log->communicators = more;
		log->max_communicators = max;
	}
	log->communicators[log->nr_communicators++] =
		(struct collective_log_communicator){process, *communicator};
	if (communicator->communicator_id > log->defined[process - 1])
		log->defined[process - 1] = communicator->communicator_id;
	return 0;
}

int collective_log_add(struct collective_log *log, uint32_t process, const struct collective *call)
{
	if (log->nr_calls == log->max_calls) {
		uint32_t max = log->max_calls ? 2 * log->max_calls : 256;
		struct collective_log_call *more = realloc(log->calls, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		log->calls = more;
		log->max_calls = max;
	}
	log->calls[log->nr_calls++] = (struct collective_log_call){process, *call};
	return 0;
}

const struct collective_log_communicator *
collective_log_communicators(const struct collective_log *log, uint32_t *count)
{
	*count = log->nr_communicators;
	return log->communicators;
}

const struct collective_log_call *collective_log_calls(const struct collective_log *log,
						       uint32_t *count)
{
	*count = log->nr_calls;
	return log->calls;
}

void collective_log_saved(struct collective_log *log)
{
	log->nr_communicators = log->nr_calls = 0;
}

int collective_log_load(struct collective_log *log, uint32_t process, uint32_t defined)
{
	int error = reserve_process(log, process);

	if (!error)
		log->defined[process - 1] = defined;
	return error;
}
