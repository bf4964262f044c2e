#include "cupti_clock.h"

#include <cupti.h>
#include <pthread.h>
#include <stddef.h>

#include "sim/sim_clock.h"

#define MEASURE_NS 2000000u
#define MOMENT_NS  5000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUpti_TimestampCallbackFunc read; /* NULL: the simulation's clock */
	uint64_t since, since_ns;         /* both clocks, when it was put there */
	double scale;                     /* its units a ns */
} clock_of_program;

/* Both clocks at one moment: this thread may lose its processor between two calls. */
static uint64_t read_beside(CUpti_TimestampCallbackFunc read, uint64_t (*other)(void),
			    uint64_t *other_ns)
{
	uint64_t time, begin_ns;

	do {
		begin_ns = sim_clock_host_ns();
		*other_ns = other();
		time = read();
	} while (sim_clock_host_ns() - begin_ns > MOMENT_NS);
	return time;
}

static double measure(CUpti_TimestampCallbackFunc read)
{
	uint64_t begin_ns, end_ns, begin = read_beside(read, sim_clock_host_ns, &begin_ns), end;

	sim_clock_spend(begin_ns, MEASURE_NS);
	end = read_beside(read, sim_clock_host_ns, &end_ns);
	return (double)(end - begin) / (double)(end_ns - begin_ns);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	if (!funcTimestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	clock_of_program.read = funcTimestamp;
	clock_of_program.scale = measure(funcTimestamp);
	clock_of_program.since =
		read_beside(funcTimestamp, sim_clock_now, &clock_of_program.since_ns);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

uint64_t cupti_clock_now(void)
{
	uint64_t now;

	pthread_mutex_lock(&lock);
	now = clock_of_program.read ? clock_of_program.read() : sim_clock_now();
	pthread_mutex_unlock(&lock);
	return now;
}

bool cupti_clock_is_foreign(void)
{
	bool is_foreign;

	pthread_mutex_lock(&lock);
	is_foreign = clock_of_program.read != NULL;
	pthread_mutex_unlock(&lock);
	return is_foreign;
}

uint64_t cupti_clock_of(uint64_t time_ns)
{
	uint64_t time = time_ns;

	pthread_mutex_lock(&lock);
	if (clock_of_program.read) {
		double offset_ns = (double)(int64_t)(time_ns - clock_of_program.since_ns);

		time = clock_of_program.since +
		       (uint64_t)(int64_t)(offset_ns * clock_of_program.scale);
	}
	pthread_mutex_unlock(&lock);
	return time;
}

bool cupti_clock_changed_within(uint64_t start_ns, uint64_t end_ns)
{
	bool changed;

	pthread_mutex_lock(&lock);
	changed = clock_of_program.read && start_ns < clock_of_program.since_ns &&
		  end_ns > clock_of_program.since_ns;
	pthread_mutex_unlock(&lock);
	return changed;
}

void cupti_clock_reset(void)
{
	pthread_mutex_lock(&lock);
	clock_of_program.read = NULL;
	pthread_mutex_unlock(&lock);
}
