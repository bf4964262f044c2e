#include "thread_crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

struct member {
	void (*work)(void *context, uint32_t part);
	void *context;
	uint32_t part;
	pthread_t thread;
	bool has_thread;
};

uint32_t thread_crew_size(void)
{
	cpu_set_t cpus;
	const int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

	if (count < 1)
		return 1;
	return (uint32_t)count < THREAD_CREW_MOST ? (uint32_t)count : THREAD_CREW_MOST;
}

static void *run(void *argument)
{
	const struct member *member = argument;

	pthread_setname_np(pthread_self(), THREAD_CREW_NAME);
	member->work(member->context, member->part);
	return NULL;
}

void thread_crew_run(uint32_t nr_parts, void (*work)(void *context, uint32_t part), void *context)
{
	struct member members[THREAD_CREW_MOST];

	for (uint32_t i = 0; i < nr_parts; i++) {
		members[i] = (struct member){.work = work, .context = context, .part = i};
		members[i].has_thread =
			i && pthread_create(&members[i].thread, NULL, run, &members[i]) == 0;
	}
	for (uint32_t i = 0; i < nr_parts; i++)
		if (!members[i].has_thread)
			work(context, i);
	for (uint32_t i = 0; i < nr_parts; i++)
		if (members[i].has_thread)
			pthread_join(members[i].thread, NULL);
}
