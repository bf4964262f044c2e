#include "sim_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

struct range {
	struct range *next;
	uintptr_t begin;
	size_t size_bytes;
	enum sim_memory_place place;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;

void *sim_memory_alloc(size_t size_bytes, enum sim_memory_place place)
{
	struct range *range = malloc(sizeof(*range));

	if (!range)
		return NULL;
	void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		free(range);
		return NULL;
	}
	range->begin = (uintptr_t)memory;
	range->size_bytes = size_bytes;
	range->place = place;
	pthread_mutex_lock(&lock);
	range->next = ranges;
	ranges = range;
	pthread_mutex_unlock(&lock);
	return memory;
}

int sim_memory_free(void *address, enum sim_memory_place place)
{
	struct range *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct range **link = &ranges; *link; link = &(*link)->next) {
		if ((*link)->begin == (uintptr_t)address && (*link)->place == place) {
			found = *link;
			*link = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!found)
		return -EINVAL;
	munmap(address, found->size_bytes);
	free(found);
	return 0;
}

enum sim_memory_place sim_memory_place(const void *address)
{
	enum sim_memory_place place = SIM_PAGEABLE;

	pthread_mutex_lock(&lock);
	for (struct range *range = ranges; range; range = range->next) {
		if ((uintptr_t)address - range->begin < range->size_bytes) {
			place = range->place;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return place;
}
