#include "sim_calls.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

#include "sim_trace.h"

#define DOMAINS      3u
#define CBIDS        1024u
#define FAILURES_MAX 512u
#define NOT_READY    600

struct calls {
	_Atomic(const char *) name;
	_Atomic uint64_t count, failed;
};

struct failure {
	const char *name;
	uint32_t domain;
	int result;
	uint64_t count;
};

static struct calls calls[DOMAINS][CBIDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct failure failures[FAILURES_MAX]; /* under lock */
static uint32_t nr_failures;

static void count_failure(const struct sim_call *call, int result)
{
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < nr_failures && (failures[i].name != call->name || failures[i].result != result ||
				   failures[i].domain != (uint32_t)call->domain))
		i++;
	if (i == nr_failures && nr_failures < FAILURES_MAX)
		failures[nr_failures++] = (struct failure){call->name, call->domain, result, 0};
	if (i < nr_failures)
		failures[i].count++;
	pthread_mutex_unlock(&lock);
}

void sim_calls_count(const struct sim_call *call, int result)
{
	struct calls *of = &calls[call->domain][call->cbid % CBIDS];

	atomic_store_explicit(&of->name, call->name, memory_order_relaxed);
	atomic_fetch_add_explicit(&of->count, 1, memory_order_relaxed);
	if (result == 0 || result == NOT_READY)
		return;
	atomic_fetch_add_explicit(&of->failed, 1, memory_order_relaxed);
	count_failure(call, result);
}

static const char *domain_name(uint32_t domain)
{
	return domain == SIM_DOMAIN_RUNTIME ? "runtime" : "driver";
}

void sim_calls_write(FILE *file)
{
	for (uint32_t domain = 1; domain < DOMAINS; domain++) {
		for (uint32_t cbid = 0; cbid < CBIDS; cbid++) {
			struct calls *of = &calls[domain][cbid];

			if (atomic_load(&of->count))
				fprintf(file, "#call\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n",
					domain_name(domain), atomic_load(&of->name),
					atomic_load(&of->count), atomic_load(&of->failed));
		}
	}
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nr_failures; i++)
		fprintf(file, "#failed\t%s\t%s\t%d\t%" PRIu64 "\n", domain_name(failures[i].domain),
			failures[i].name, failures[i].result, failures[i].count);
	pthread_mutex_unlock(&lock);
}
