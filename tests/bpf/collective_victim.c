/* A program of two ranks, each a thread, that calls fake NCCL in known ways, as it is told to on standard input, each line of which is answered
 * by one on standard output:
 *
 *   world ID PROCESS     communicators of four ranks, of which this process has two: of a unique id (32 hex digits), splits of it and of those;
 *                        all functions on them, in groups and not
 *   local                two devices by ncclCommInitAll
 *   together ID          both ranks of a communicator of two from one thread, in a group; splits of them in another
 *   reuse ID             a communicator of one rank; another in its place
 *   keep ID              a communicator of one rank, for what follows
 *   burst N              N all_reduces on it
 *   split                a split of it, on which one broadcast is called
 *   wrong                calls that fail
 *   probed               answers with 1 where all functions begin with a breakpoint, else with 0
 *   end
 *
 * With arguments, an id, a process and a file: waits until it is probed, does "world", and ends when the file is there. FAKE_NCCL_TRUTH has what was called. Frame pointers keep
 * its stacks exact. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#define NOINLINE __attribute__((noinline, noclone)) /* and in the symbol table */
#define RANKS    4

static ncclComm_t kept;
static _Thread_local volatile uint64_t sink;

static void require(int error)
{
	if (error == 0)
		return;
	fprintf(stderr, "collective_victim: %d\n", error);
	exit(2);
}

static ncclUniqueId id_of(const char *hex)
{
	ncclUniqueId id;

	memset(&id, 0, sizeof(id));
	for (size_t i = 0; i < strlen(hex) && i < sizeof(id); i++)
		id.internal[i] = hex[i];
	return id;
}

/* ---- a world of four ranks ---------------------------------------------------------------------- */

struct rank {
	pthread_t thread;
	ncclUniqueId id;
	int number, device;
};

static NOINLINE void victim_reduce(ncclComm_t comm, cudaStream_t stream, size_t count)
{
	require(ncclAllReduce(NULL, NULL, count, ncclFloat32, ncclSum, comm, stream));
	sink++;
}

static NOINLINE void victim_all_functions(ncclComm_t comm, cudaStream_t stream)
{
	require(ncclBroadcast(NULL, NULL, 10, ncclInt8, 1, comm, stream));
	require(ncclBcast(NULL, 11, ncclUint8, 1, comm, stream));
	require(ncclReduce(NULL, NULL, 12, ncclInt32, ncclMax, 2, comm, stream));
	require(ncclAllGather(NULL, NULL, 13, ncclUint32, comm, stream));
	require(ncclReduceScatter(NULL, NULL, 14, ncclInt64, ncclAvg, comm, stream));
	require(ncclAlltoAll(NULL, NULL, 15, ncclUint64, comm, stream));
	require(ncclGather(NULL, NULL, 16, ncclFloat16, 0, comm, stream));
	require(ncclScatter(NULL, NULL, 17, ncclFloat64, 3, comm, stream));
	require(ncclAllReduce(NULL, NULL, 18, ncclBfloat16, ncclMin, comm, stream));
	require(ncclAllReduce(NULL, NULL, 19, ncclFloat8e5m2, ncclProd, comm, stream));
	sink++;
}

static NOINLINE void victim_exchange(ncclComm_t comm, cudaStream_t stream, int rank)
{
	require(ncclGroupStart());
	require(ncclSend(NULL, 20, ncclFloat32, (rank + 1) % RANKS, comm, stream));
	require(ncclRecv(NULL, 20, ncclFloat32, (rank + RANKS - 1) % RANKS, comm, stream));
	require(ncclGroupStart());
	victim_reduce(comm, stream, 21);
	require(ncclGroupEnd());
	require(ncclGroupEnd());
	if (rank % 2)
		require(ncclRecv(NULL, 22, ncclInt8, rank - 1, comm, stream));
	else
		require(ncclSend(NULL, 22, ncclInt8, rank + 1, comm, stream));
	sink++;
}

static void *play_rank(void *argument)
{
	const struct rank *rank = argument;
	ncclComm_t world, half, inner, some = NULL, grouped;
	cudaStream_t stream;

	require((int)cudaSetDevice(rank->device));
	require((int)cudaStreamCreate(&stream));
	require(ncclCommInitRank(&world, RANKS, rank->id, rank->number));
	victim_reduce(world, stream, 1);
	require(ncclCommSplit(world, rank->number % 2, -rank->number, &half, NULL));
	victim_reduce(half, stream, 2);
	require(ncclCommSplit(half, 7, 0, &inner, NULL));
	victim_reduce(inner, stream, 3);
	require(ncclCommSplit(world, rank->number ? 0 : NCCL_SPLIT_NOCOLOR, 0, &some, NULL));
	if (some)
		victim_reduce(some, stream, 4);
	victim_all_functions(world, stream);
	victim_exchange(world, stream, rank->number);
	require(ncclGroupStart());
	require(ncclCommSplit(world, rank->number / 2, 0, &grouped, NULL));
	require(ncclGroupEnd());
	victim_reduce(grouped, NULL, 5);
	require((int)cudaStreamSynchronize(stream));
	require(ncclCommDestroy(grouped));
	if (some)
		require(ncclCommDestroy(some));
	require(ncclCommDestroy(inner));
	require(ncclCommAbort(half));
	require(ncclCommFinalize(world));
	require(ncclCommDestroy(world));
	return NULL;
}

static void play_world(const char *id, int process)
{
	struct rank ranks[2];

	for (int i = 0; i < 2; i++) {
		ranks[i] = (struct rank){.id = id_of(id), .number = 2 * process + i, .device = i};
		if (pthread_create(&ranks[i].thread, NULL, play_rank, &ranks[i]))
			abort();
	}
	for (int i = 0; i < 2; i++)
		pthread_join(ranks[i].thread, NULL);
}

/* ---- the rest ----------------------------------------------------------------------------------- */

static void play_local(void)
{
	ncclComm_t comms[2];

	require(ncclCommInitAll(comms, 2, NULL));
	require(ncclGroupStart());
	for (int i = 0; i < 2; i++)
		victim_reduce(comms[i], NULL, 100);
	require(ncclGroupEnd());
	for (int i = 0; i < 2; i++)
		require(ncclCommDestroy(comms[i]));
}

static void play_together(const char *id)
{
	ncclComm_t comms[2], halves[2];

	require(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		require((int)cudaSetDevice(i));
		require(ncclCommInitRankConfig(&comms[i], 2, id_of(id), i, NULL));
	}
	require(ncclGroupEnd());
	require(ncclGroupStart());
	for (int i = 0; i < 2; i++)
		require(ncclCommSplit(comms[i], 3, -i, &halves[i], NULL));
	require(ncclGroupEnd());
	require(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		victim_reduce(comms[i], NULL, 200);
		victim_reduce(halves[i], NULL, 201);
	}
	require(ncclGroupEnd());
	for (int i = 0; i < 2; i++) {
		require(ncclCommDestroy(halves[i]));
		require(ncclCommDestroy(comms[i]));
	}
}

static ncclComm_t begin_alone(const char *id)
{
	ncclUniqueId ids[2] = {id_of(id), id_of("another")};
	ncclComm_t comm;

	require(ncclCommInitRankScalable(&comm, 1, 0, 2, ids, NULL));
	return comm;
}

static void play_reuse(const char *id)
{
	char other[80];
	ncclComm_t first = begin_alone(id);

	victim_reduce(first, NULL, 300);
	victim_reduce(first, NULL, 301);
	require(ncclCommDestroy(first));
	snprintf(other, sizeof(other), "%s again", id);
	ncclComm_t second = begin_alone(other);
	if (second != first)
		abort();
	victim_reduce(second, NULL, 302);
	require(ncclCommDestroy(second));
}

static void play_split(void)
{
	ncclComm_t half;

	require(ncclCommSplit(kept, 1, 0, &half, NULL));
	require(ncclBroadcast(NULL, NULL, 500, ncclInt8, 0, half, NULL));
	require(ncclCommDestroy(half));
}

static void play_wrong(void)
{
	ncclAllReduce(NULL, NULL, 400, (ncclDataType_t)99, ncclSum, kept, NULL);
	ncclAllReduce(NULL, NULL, 401, ncclInt8, ncclSum, NULL, NULL);
	ncclCommSplit(kept, -5, 0, NULL, NULL);
	victim_reduce(kept, NULL, 402);
}

static int is_probed(void)
{
	const unsigned char breakpoint = 0xcc; /* int3 */
	/* One after the other gets its probe. */
	const uintptr_t functions[] = {
		(uintptr_t)ncclAllGather,
		(uintptr_t)ncclAllReduce,
		(uintptr_t)ncclBroadcast,
		(uintptr_t)ncclCommDestroy,
		(uintptr_t)ncclCommInitAll,
		(uintptr_t)ncclCommInitRank,
		(uintptr_t)ncclCommSplit,
		(uintptr_t)ncclGroupEnd,
		(uintptr_t)ncclGroupStart,
		(uintptr_t)ncclRecv,
		(uintptr_t)ncclReduce,
		(uintptr_t)ncclReduceScatter,
		(uintptr_t)ncclSend,
		(uintptr_t)ncclAlltoAll,
		(uintptr_t)ncclBcast,
		(uintptr_t)ncclCommAbort,
		(uintptr_t)ncclCommInitRankConfig,
		(uintptr_t)ncclCommInitRankScalable,
		(uintptr_t)ncclGather,
		(uintptr_t)ncclScatter,
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (*(volatile const unsigned char *)functions[i] != breakpoint)
			return 0;
	return 1;
}

static int obey(const char *word, const char *first, const char *second)
{
	if (strcmp(word, "world") == 0)
		play_world(first, (int)strtol(second, NULL, 10));
	else if (strcmp(word, "local") == 0)
		play_local();
	else if (strcmp(word, "together") == 0)
		play_together(first);
	else if (strcmp(word, "reuse") == 0)
		play_reuse(first);
	else if (strcmp(word, "keep") == 0)
		kept = begin_alone(first);
	else if (strcmp(word, "split") == 0)
		play_split();
	else if (strcmp(word, "wrong") == 0)
		play_wrong();
	else if (strcmp(word, "burst") == 0)
		for (long i = strtol(first, NULL, 10); i > 0; i--)
			victim_reduce(kept, NULL, 600);
	return strcmp(word, "probed") == 0 ? is_probed() : 0;
}

int main(int argc, char **argv)
{
	char line[256], word[16], first[64], second[64];

	if (argc == 4) {
		while (!is_probed())
			usleep(1000);
		play_world(argv[1], (int)strtol(argv[2], NULL, 10));
		while (access(argv[3], F_OK) < 0)
			usleep(1000);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		first[0] = second[0] = '\0';
		if (sscanf(line, "%15s %63s %63s", word, first, second) < 1 ||
		    strcmp(word, "end") == 0)
			break;
		printf("%d\n", obey(word, first, second));
		fflush(stdout);
	}
	return 7;
}
