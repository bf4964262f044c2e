#include "collective_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct process {
	uint32_t defined; /* communicators that were defined */
	uint32_t nr_early;
	struct collective_log_kernel *early; /* owns; the n-th is at n % COLLECTIVE_LOG_EARLY */
	uint32_t *asked; /* owns; correlation ids, each at id % COLLECTIVE_LOG_ASKED */
	struct collective_log_joins joins;
};

struct collective_log {
	struct process *processes; /* owns; processes[process - 1] */
	uint32_t nr_processes;
	struct collective_log_communicator *communicators; /* owns */
	uint32_t nr_communicators, max_communicators;
	struct collective_log_call *calls; /* owns */
	uint32_t nr_calls, max_calls;
	struct collective_log_kernel *kernels; /* owns */
	uint32_t nr_kernels, max_kernels;
};

struct collective_log *collective_log_create(void)
{
	return calloc(1, sizeof(struct collective_log));
}

static void forget(struct process *process)
{
	free(process->early);
	free(process->asked);
	process->early = NULL;
	process->asked = NULL;
	process->nr_early = 0;
}

void collective_log_destroy(struct collective_log *log)
{
	if (!log)
		return;
	for (uint32_t i = 0; i < log->nr_processes; i++)
		forget(&log->processes[i]);
	free(log->processes);
	free(log->communicators);
	free(log->calls);
	free(log->kernels);
	free(log);
}

uint32_t collective_log_defined(const struct collective_log *log, uint32_t process)
{
	return process && process <= log->nr_processes ? log->processes[process - 1].defined : 0;
}

static int reserve_process(struct collective_log *log, uint32_t process)
{
	return array_reserve_zeroed(&log->processes, &log->nr_processes, process,
				    sizeof(*log->processes));
}

/* Makes room for count more kernels. 0 or -ENOMEM. */
static int reserve_kernels(struct collective_log *log, uint32_t count)
{
	return array_reserve(&log->kernels, &log->max_kernels, (uint64_t)log->nr_kernels + count,
			     sizeof(*log->kernels));
}

static void put_kernel(struct collective_log *log, struct process *process,
		       const struct collective_log_kernel *kernel)
{
	log->kernels[log->nr_kernels] = *kernel;
	log->kernels[log->nr_kernels++].position = ++process->joins.kernels;
}

/* Keeps the kernels that came before the first communicator. */
static int take_early(struct collective_log *log, struct process *process)
{
	uint32_t count =
		process->nr_early < COLLECTIVE_LOG_EARLY ? process->nr_early : COLLECTIVE_LOG_EARLY;

	if (reserve_kernels(log, count))
		return -ENOMEM;
	for (uint32_t i = process->nr_early - count; i != process->nr_early; i++)
		put_kernel(log, process, &process->early[i % COLLECTIVE_LOG_EARLY]);
	free(process->early);
	process->early = NULL;
	process->nr_early = 0;
	return 0;
}

int collective_log_put(struct collective_log *log, uint32_t process,
		       const struct communicator *communicator)
{
	int error = reserve_process(log, process);

	if (!error)
		error = take_early(log, &log->processes[process - 1]);
	if (error)
		return error;
	if (array_reserve(&log->communicators, &log->max_communicators, log->nr_communicators + 1,
			  sizeof(*log->communicators)))
		return -ENOMEM;
	log->communicators[log->nr_communicators++] =
		(struct collective_log_communicator){process, *communicator};
	if (communicator->communicator_id > log->processes[process - 1].defined)
		log->processes[process - 1].defined = communicator->communicator_id;
	return 0;
}

int collective_log_ask(struct collective_log *log, uint32_t process, uint32_t correlation_id)
{
	int error = reserve_process(log, process);

	if (error || !correlation_id)
		return error;
	uint32_t **asked = &log->processes[process - 1].asked;
	if (!*asked)
		*asked = calloc(COLLECTIVE_LOG_ASKED, sizeof(**asked));
	if (!*asked)
		return -ENOMEM;
	(*asked)[correlation_id % COLLECTIVE_LOG_ASKED] = correlation_id;
	return 0;
}

int collective_log_add(struct collective_log *log, uint32_t process, const struct collective *call)
{
	const struct collective_log_call added = {.process = process, .call = *call};
	int error = collective_log_ask(log, process, call->correlation_id);

	return error ? error : collective_log_load_call(log, &added);
}

static int add_early(struct process *process, const struct collective_log_kernel *kernel)
{
	if (!process->early)
		process->early = calloc(COLLECTIVE_LOG_EARLY, sizeof(*process->early));
	if (!process->early)
		return -ENOMEM;
	/* The number stays below twice the limit, so that it cannot wrap. */
	if (process->nr_early == 2 * COLLECTIVE_LOG_EARLY)
		process->nr_early = COLLECTIVE_LOG_EARLY;
	process->early[process->nr_early++ % COLLECTIVE_LOG_EARLY] = *kernel;
	return 0;
}

bool collective_log_wants(const struct collective_log *log, uint32_t process,
			  uint32_t correlation_id, bool is_nccl)
{
	if (!correlation_id || is_nccl)
		return correlation_id;
	if (process == 0 || process > log->nr_processes)
		return false;
	const uint32_t *asked = log->processes[process - 1].asked;
	return asked && asked[correlation_id % COLLECTIVE_LOG_ASKED] == correlation_id;
}

int collective_log_kernel(struct collective_log *log, uint32_t process, uint32_t correlation_id,
			  const struct collective_gpu *gpu, bool is_nccl)
{
	const struct collective_log_kernel kernel = {
		.process = process, .correlation_id = correlation_id, .gpu = *gpu};

	if (!collective_log_wants(log, process, correlation_id, is_nccl))
		return 0;
	int error = reserve_process(log, process);
	if (error)
		return error;

	struct process *from = &log->processes[process - 1];
	if (!from->defined)
		return add_early(from, &kernel);
	error = reserve_kernels(log, 1);
	if (!error)
		put_kernel(log, from, &kernel);
	return error;
}

void collective_log_end(struct collective_log *log, uint32_t process)
{
	if (process == 0 || process > log->nr_processes)
		return;
	forget(&log->processes[process - 1]);
	log->processes[process - 1].joins.ended = true;
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

const struct collective_log_kernel *collective_log_kernels(const struct collective_log *log,
							   uint32_t *count)
{
	*count = log->nr_kernels;
	return log->kernels;
}

const struct collective_log_joins *collective_log_joins(const struct collective_log *log,
							uint32_t process)
{
	return process && process <= log->nr_processes ? &log->processes[process - 1].joins : NULL;
}

void collective_log_saved(struct collective_log *log)
{
	log->nr_communicators = log->nr_calls = log->nr_kernels = 0;
	for (uint32_t i = 0; i < log->nr_processes; i++) {
		struct collective_log_joins *joins = &log->processes[i].joins;

		joins->saved = joins->kernels;
		joins->ended = false;
	}
}

int collective_log_load(struct collective_log *log, uint32_t process, uint32_t defined)
{
	int error = reserve_process(log, process);

	if (!error)
		log->processes[process - 1].defined = defined;
	return error;
}

int collective_log_load_kernels(struct collective_log *log, uint32_t process, uint64_t kernels)
{
	int error = reserve_process(log, process);

	if (!error)
		log->processes[process - 1].joins.kernels = kernels;
	return error;
}

int collective_log_load_call(struct collective_log *log, const struct collective_log_call *call)
{
	if (array_reserve(&log->calls, &log->max_calls, log->nr_calls + 1, sizeof(*log->calls)))
		return -ENOMEM;
	log->calls[log->nr_calls++] = *call;
	return 0;
}
