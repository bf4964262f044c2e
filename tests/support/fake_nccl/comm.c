#include "comm.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "encounter.h"
#include "meeting.h"
#include "profiler.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *given_back;

struct ncclComm *comm_create(void)
{
	pthread_mutex_lock(&lock);
	struct ncclComm *comm = given_back;
	if (comm)
		given_back = comm->next;
	pthread_mutex_unlock(&lock);
	if (!comm)
		return calloc(1, sizeof(*comm));
	memset(comm, 0, sizeof(*comm));
	return comm;
}

void comm_destroy(struct ncclComm *comm)
{
	profiler_end(comm);
	pthread_mutex_lock(&lock);
	comm->next = given_back;
	given_back = comm;
	pthread_mutex_unlock(&lock);
}

uint64_t comm_hash(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < size; i++) {
		hash ^= at[i];
		hash *= 1099511628211ull;
	}
	return hash ? hash : 1;
}

uint64_t comm_split_key(uint64_t parent, int32_t color, uint32_t split)
{
	struct {
		uint64_t parent;
		int32_t color;
		uint32_t split;
	} bytes = {parent, color, split};

	return comm_hash(&bytes, sizeof(bytes));
}

ncclResult_t comm_join(struct ncclComm *comm)
{
	const struct meeting_word nothing = {0, 0};
	struct meeting_word words[MEETING_RANKS_MAX];

	comm->hash = comm_hash(&comm->key, sizeof(comm->key));
	if (comm->nr_ranks > 1)
		comm->area = encounter_open(comm->key);
	if (meeting_hold(comm->key, comm->rank, comm->nr_ranks, &nothing, words))
		return ncclSystemError;
	if (comm->nr_ranks > 1 && comm->rank == 0)
		encounter_unlink(comm->key);
	profiler_begin(comm);
	return ncclSuccess;
}

/* Before the rank of the parent that has the word `mine`. */
static bool is_before(const struct meeting_word words[], uint32_t rank, uint32_t mine)
{
	return words[rank].key < words[mine].key ||
	       (words[rank].key == words[mine].key && rank < mine);
}

ncclResult_t comm_split(struct ncclComm *parent, uint32_t split, int color, int key,
			ncclComm_t *newcomm)
{
	const struct meeting_word mine = {color, key};
	struct meeting_word words[MEETING_RANKS_MAX];

	/* One meeting for all colours. */
	if (meeting_hold(comm_split_key(parent->key, INT32_MIN, split), parent->rank,
			 parent->nr_ranks, &mine, words))
		return ncclSystemError;
	*newcomm = NULL;
	if (color == NCCL_SPLIT_NOCOLOR)
		return ncclSuccess;
	struct ncclComm *comm = comm_create();
	if (!comm)
		return ncclSystemError;
	comm->key = comm_split_key(parent->key, color, split);
	comm->device = parent->device;
	for (uint32_t rank = 0; rank < parent->nr_ranks; rank++) {
		comm->nr_ranks += words[rank].color == color;
		comm->rank += words[rank].color == color && is_before(words, rank, parent->rank);
	}
	ncclResult_t result = comm_join(comm);
	*newcomm = comm;
	return result;
}
