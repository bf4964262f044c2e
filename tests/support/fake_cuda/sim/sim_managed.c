#include "sim_managed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim_memory.h"

#define BLOCKS_MAX (SIM_MANAGED_RUN_BYTES / SIM_MANAGED_BLOCK_BYTES)

struct managed {
	struct managed *next;
	uint64_t begin;
	size_t size_bytes;
	int8_t place[]; /* of each block */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct managed *allocations;

void *sim_managed_alloc(size_t size_bytes, const struct sim_context *context)
{
	size_t nr_blocks = (size_bytes + SIM_MANAGED_BLOCK_BYTES - 1) / SIM_MANAGED_BLOCK_BYTES;
	struct managed *managed = malloc(sizeof(*managed) + nr_blocks);
	void *memory = managed ? sim_memory_alloc(size_bytes, SIM_MANAGED, context, NULL) : NULL;

	if (!memory) {
		free(managed);
		return NULL;
	}
	managed->begin = (uintptr_t)memory;
	managed->size_bytes = size_bytes;
	memset(managed->place, SIM_MANAGED_HOST, nr_blocks);
	pthread_mutex_lock(&lock);
	managed->next = allocations;
	allocations = managed;
	pthread_mutex_unlock(&lock);
	return memory;
}

void sim_managed_forget(const void *address)
{
	struct managed *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct managed **link = &allocations; *link; link = &(*link)->next) {
		if ((*link)->begin == (uintptr_t)address) {
			found = *link;
			*link = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	free(found);
}

/* The lock is held. */
static struct managed *find(uint64_t address, size_t size_bytes)
{
	for (struct managed *managed = allocations; managed; managed = managed->next)
		if (address - managed->begin < managed->size_bytes &&
		    size_bytes <= managed->size_bytes - (address - managed->begin))
			return managed;
	return NULL;
}

/* Blocks from `block` on that lie on the same processor, at most a run of them. */
static size_t run_length(const struct managed *managed, size_t block, size_t end)
{
	size_t length = 1;

	while (length < BLOCKS_MAX && block + length < end &&
	       managed->place[block + length] == managed->place[block])
		length++;
	return length;
}

int sim_managed_move(uint64_t address, size_t size_bytes, int target, sim_managed_moved *moved,
		     void *context)
{
	pthread_mutex_lock(&lock);
	struct managed *managed = size_bytes ? find(address, size_bytes) : NULL;
	if (!managed) {
		pthread_mutex_unlock(&lock);
		return -EINVAL;
	}
	size_t block = (address - managed->begin) / SIM_MANAGED_BLOCK_BYTES;
	size_t end = (address - managed->begin + size_bytes - 1) / SIM_MANAGED_BLOCK_BYTES + 1;
	while (block < end) {
		size_t length = run_length(managed, block, end);
		int source = managed->place[block];

		if (source != target) {
			memset(managed->place + block, target, length);
			moved(context, source, managed->begin + block * SIM_MANAGED_BLOCK_BYTES,
			      length * SIM_MANAGED_BLOCK_BYTES);
		}
		block += length;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}
