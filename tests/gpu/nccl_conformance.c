/* What the guest assumes of NCCL's profiler interface (docs/collectives.md), on whichever NCCL: fake NCCL in every test run, the real one on a machine
 * with two GPUs.
 *
 *   nccl_conformance PLUGIN LIBNCCL LIBCUDART
 *
 * Linked to nothing. Two ranks, a thread and a GPU each. Prints what it was told, a line an event, then a line for each check that begins with
 * "ok" or "not ok". Exit status: 0 all hold, 1 one does not, 77 there are not two GPUs. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/nccl/nccl_profiler_abi.h"
#include "nccl_conformance.h"

#define RANKS      2
#define BYTES      (1u << 22)
#define FLOAT32    7
#define CALL_TYPES (NCCL_EVENT_COLLECTIVE_API | NCCL_EVENT_KERNEL_LAUNCH | NCCL_EVENT_GROUP)

struct unique_id {
	char bytes[128];
};

static struct {
	int (*get_device_count)(int *count);
	int (*set_device)(int device);
	int (*stream_create)(void **stream);
	int (*stream_synchronize)(void *stream);
	int (*alloc)(void **memory, size_t size);
	int (*begin_capture)(void *stream, int mode);
	int (*end_capture)(void *stream, void **graph);
	int (*instantiate)(void **exec, void *graph, unsigned long long flags);
	int (*launch_graph)(void *exec, void *stream);
	int (*destroy_exec)(void *exec);
	int (*destroy_graph)(void *graph);
	int (*stream_destroy)(void *stream);
	int (*free)(void *memory);
} cuda;

static struct {
	int (*get_version)(int *version);
	int (*get_unique_id)(struct unique_id *id);
	int (*init_rank)(void **comm, int nr_ranks, struct unique_id id, int rank);
	int (*split)(void *comm, int color, int key, void **new_comm, void *config);
	int (*destroy)(void *comm);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*all_reduce)(const void *from, void *to, size_t count, int type, int op, void *comm,
			  void *stream);
	int (*all_gather)(const void *from, void *to, size_t count, int type, void *comm,
			  void *stream);
	int (*send)(const void *from, size_t count, int type, int peer, void *comm, void *stream);
	int (*recv)(void *to, size_t count, int type, int peer, void *comm, void *stream);
} nccl;

static struct conformance_events *events;
static struct unique_id id;
static int64_t tids[RANKS];
static uint32_t marks[8]; /* events until then, at each barrier */
static uint32_t nr_marks;
static pthread_barrier_t barrier;
static bool failed;

static void require(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "nccl_conformance: %s: error %d\n", what, error);
	exit(2);
}

#define REQUIRE(call) require(call, #call)

static void check(bool holds, const char *what)
{
	printf("%s - %s\n", holds ? "ok" : "not ok", what);
	failed |= !holds;
}

static void *find(void *library, const char *symbol)
{
	void *found = library ? dlsym(library, symbol) : NULL;

	if (!found)
		fprintf(stderr, "nccl_conformance: %s: %s\n", symbol, dlerror());
	require(!found, symbol);
	return found;
}

#define FIND(library, table, member, symbol) (*(void **)&table.member = find(library, symbol))

static void load(const char *nccl_path, const char *cudart_path)
{
	void *cudart = dlopen(cudart_path, RTLD_NOW | RTLD_GLOBAL);
	void *library = dlopen(nccl_path, RTLD_NOW);

	FIND(cudart, cuda, get_device_count, "cudaGetDeviceCount");
	FIND(cudart, cuda, set_device, "cudaSetDevice");
	FIND(cudart, cuda, stream_create, "cudaStreamCreate");
	FIND(cudart, cuda, stream_synchronize, "cudaStreamSynchronize");
	FIND(cudart, cuda, alloc, "cudaMalloc");
	FIND(cudart, cuda, begin_capture, "cudaStreamBeginCapture");
	FIND(cudart, cuda, end_capture, "cudaStreamEndCapture");
	FIND(cudart, cuda, instantiate, "cudaGraphInstantiate");
	FIND(cudart, cuda, launch_graph, "cudaGraphLaunch");
	FIND(cudart, cuda, destroy_exec, "cudaGraphExecDestroy");
	FIND(cudart, cuda, destroy_graph, "cudaGraphDestroy");
	FIND(cudart, cuda, stream_destroy, "cudaStreamDestroy");
	FIND(cudart, cuda, free, "cudaFree");
	FIND(library, nccl, get_version, "ncclGetVersion");
	FIND(library, nccl, get_unique_id, "ncclGetUniqueId");
	FIND(library, nccl, init_rank, "ncclCommInitRank");
	FIND(library, nccl, split, "ncclCommSplit");
	FIND(library, nccl, destroy, "ncclCommDestroy");
	FIND(library, nccl, group_start, "ncclGroupStart");
	FIND(library, nccl, group_end, "ncclGroupEnd");
	FIND(library, nccl, all_reduce, "ncclAllReduce");
	FIND(library, nccl, all_gather, "ncclAllGather");
	FIND(library, nccl, send, "ncclSend");
	FIND(library, nccl, recv, "ncclRecv");
}

/* All events until now are of the parts before. */
static void part_ends(void *stream)
{
	REQUIRE(cuda.stream_synchronize(stream));
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		marks[nr_marks++] = __atomic_load_n(&events->nr, __ATOMIC_ACQUIRE);
	pthread_barrier_wait(&barrier);
}

static void *be_rank(void *argument)
{
	int rank = (int)(intptr_t)argument, other = 1 - rank;
	void *comm, *half, *stream, *from, *to, *graph, *exec;

	tids[rank] = syscall(SYS_gettid);
	REQUIRE(cuda.set_device(rank));
	REQUIRE(cuda.stream_create(&stream));
	REQUIRE(cuda.alloc(&from, BYTES));
	REQUIRE(cuda.alloc(&to, BYTES));
	REQUIRE(nccl.init_rank(&comm, RANKS, id, rank));
	part_ends(stream); /* 0: made */
	for (int i = 0; i < 3; i++)
		REQUIRE(nccl.all_reduce(from, to, 1000, FLOAT32, 0, comm, stream));
	part_ends(stream); /* 1: three calls */
	REQUIRE(nccl.group_start());
	REQUIRE(nccl.all_reduce(from, to, 10, FLOAT32, 0, comm, stream));
	REQUIRE(nccl.all_reduce(from, to, 100000, FLOAT32, 0, comm, stream));
	REQUIRE(nccl.all_gather(from, to, 100, FLOAT32, comm, stream));
	REQUIRE(nccl.group_end());
	part_ends(stream); /* 2: a group */
	REQUIRE(nccl.group_start());
	REQUIRE(nccl.send(from, 20, FLOAT32, other, comm, stream));
	REQUIRE(nccl.recv(to, 30 - 10, FLOAT32, other, comm, stream));
	REQUIRE(nccl.group_end());
	part_ends(stream); /* 3: to each other */
	REQUIRE(nccl.split(comm, 0, rank, &half, NULL));
	REQUIRE(nccl.all_reduce(from, to, 40, FLOAT32, 0, half, stream));
	part_ends(stream); /* 4: another communicator */
	REQUIRE(cuda.begin_capture(stream, 1));
	REQUIRE(nccl.all_reduce(from, to, 50, FLOAT32, 0, comm, stream));
	REQUIRE(cuda.end_capture(stream, &graph));
	REQUIRE(cuda.instantiate(&exec, graph, 0));
	REQUIRE(cuda.launch_graph(exec, stream));
	REQUIRE(cuda.launch_graph(exec, stream));
	part_ends(stream); /* 5: captured, run twice */
	REQUIRE(nccl.all_reduce(from, to, 60, FLOAT32, 0, comm, stream));
	part_ends(stream); /* 6: and after it */
	REQUIRE(cuda.destroy_exec(exec));
	REQUIRE(cuda.destroy_graph(graph));
	REQUIRE(nccl.destroy(half));
	REQUIRE(nccl.destroy(comm));
	REQUIRE(cuda.free(from));
	REQUIRE(cuda.free(to));
	REQUIRE(cuda.stream_destroy(stream));
	return NULL;
}

/* ---- what was told */

static const struct conformance_event *nth(uint32_t part, int rank, uint64_t types, uint32_t n)
{
	for (uint32_t i = part ? marks[part - 1] : 0; i < marks[part]; i++) {
		const struct conformance_event *event = &events->list[i];

		if (event->type & types && event->tid == tids[rank] && n-- == 0)
			return event;
	}
	return NULL;
}

static uint64_t type_of(const struct conformance_event *event)
{
	return event ? event->type : 0;
}

static uint32_t count(uint32_t part, uint64_t types)
{
	uint32_t nr = 0;

	for (uint32_t i = part ? marks[part - 1] : 0; i < marks[part]; i++)
		nr += (events->list[i].type & types) != 0;
	return nr;
}

static void print_events(void)
{
	uint32_t part = 0;

	for (uint32_t i = 0; i < events->nr && i < CONFORMANCE_EVENTS_MAX; i++) {
		const struct conformance_event *event = &events->list[i];

		while (part < nr_marks && i >= marks[part])
			part++;
		printf("part %u: %s type %llu rank %d hash %016llx %s %s count %llu sequence %llu "
		       "peer "
		       "%d captured %d\n",
		       part,
		       event->tid == tids[0]   ? "thread 0"
		       : event->tid == tids[1] ? "thread 1"
					       : "another thread",
		       (unsigned long long)event->type, event->rank,
		       (unsigned long long)event->hash, event->function, event->data_type,
		       (unsigned long long)event->count, (unsigned long long)event->sequence,
		       event->peer, event->captured);
	}
}

static void check_single_calls(void)
{
	for (int rank = 0; rank < RANKS; rank++) {
		bool holds = true, grouped = true;

		for (uint32_t i = 0; i < 3; i++) {
			const struct conformance_event *task =
				nth(1, rank, NCCL_EVENT_COLLECTIVE, i);
			const struct conformance_event *before =
				nth(1, rank, NCCL_EVENT_COLLECTIVE | NCCL_EVENT_GROUP, 2 * i);

			holds &= task && task->rank == rank && task->sequence == i &&
				 task->count == 1000 && strcmp(task->function, "AllReduce") == 0 &&
				 strcmp(task->data_type, "ncclFloat32") == 0;
			grouped &= before && before->type == NCCL_EVENT_GROUP;
		}
		check(holds, "each call is told of on the calling thread, numbered from 0");
		check(grouped, "each plan's Group comes before its task, on that thread");
		if (events->version >= 5)
			check(type_of(nth(1, rank, CALL_TYPES, 0)) == NCCL_EVENT_COLLECTIVE_API &&
				      type_of(nth(1, rank, CALL_TYPES, 1)) ==
					      NCCL_EVENT_KERNEL_LAUNCH &&
				      type_of(nth(1, rank, CALL_TYPES, 2)) == NCCL_EVENT_GROUP,
			      "the API's event, the launch, then the Group");
	}
	check(count(1, NCCL_EVENT_COLLECTIVE) == 3 * RANKS, "no task is told of twice");
}

static void check_group(void)
{
	bool same = true, there = true;

	for (uint32_t i = 0; i < 3; i++) {
		const struct conformance_event *a = nth(2, 0, NCCL_EVENT_COLLECTIVE, i);
		const struct conformance_event *b = nth(2, 1, NCCL_EVENT_COLLECTIVE, i);

		there &= a && b;
		same &= a && b && strcmp(a->function, b->function) == 0 && a->count == b->count &&
			a->sequence == b->sequence && a->hash == b->hash;
		if (a && strcmp(a->function, "AllGather") == 0)
			check(a->count == 400 && strcmp(a->data_type, "ncclInt8") == 0,
			      "all_gather counts bytes");
	}
	check(there, "all calls of a group are told of on the thread that ends it");
	check(same, "a group's collectives come in the same order on both ranks");
	printf("a group of three is %u plans\n", count(2, NCCL_EVENT_GROUP) / RANKS);
}

static void check_rest(void)
{
	const struct conformance_event *first = nth(1, 0, NCCL_EVENT_COLLECTIVE, 0);
	const struct conformance_event *split = nth(4, 0, NCCL_EVENT_COLLECTIVE, 0);
	const struct conformance_event *other = nth(4, 1, NCCL_EVENT_COLLECTIVE, 0);
	const struct conformance_event *last = nth(6, 0, NCCL_EVENT_COLLECTIVE, 0);

	check(count(3, NCCL_EVENT_P2P) == 2 * RANKS && nth(3, 0, NCCL_EVENT_P2P, 0) &&
		      nth(3, 0, NCCL_EVENT_P2P, 0)->peer == 1 &&
		      nth(3, 0, NCCL_EVENT_P2P, 0)->count == 20,
	      "a send and a receive are told of with their peers");
	check(first && split && other && split->hash == other->hash && split->hash != first->hash &&
		      split->sequence == 0,
	      "a split has a hash of its own, the same on both ranks, and counts from 0");
	printf("a captured call that ran twice was told of %u times on %u ranks\n",
	       count(5, NCCL_EVENT_COLLECTIVE), RANKS);
	/* Three and two of the group; what is captured does not count (2.27 on). */
	check(last && (events->version < 4 || last->sequence == 5),
	      "the function's number after a captured call is that before it");
}

int main(int argc, char **argv)
{
	pthread_t threads[RANKS];
	int nr_devices = 0, version = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: nccl_conformance PLUGIN LIBNCCL LIBCUDART\n");
		return 2;
	}
	setenv("NCCL_PROFILER_PLUGIN", argv[1], 1);
	void *plugin = dlopen(argv[1], RTLD_NOW);
	if (!plugin)
		fprintf(stderr, "nccl_conformance: %s\n", dlerror());
	events = find(plugin, CONFORMANCE_EVENTS_SYMBOL);
	load(argv[2], argv[3]);
	REQUIRE(cuda.get_device_count(&nr_devices));
	if (nr_devices < RANKS)
		return 77;
	REQUIRE(nccl.get_version(&version));
	REQUIRE(nccl.get_unique_id(&id));
	REQUIRE(pthread_barrier_init(&barrier, NULL, RANKS));
	for (int rank = 0; rank < RANKS; rank++)
		REQUIRE(pthread_create(&threads[rank], NULL, be_rank, (void *)(intptr_t)rank));
	for (int rank = 0; rank < RANKS; rank++)
		pthread_join(threads[rank], NULL);
	print_events();
	printf("NCCL %d, interface version %u\n", version, events->version);
	check(events->version > 0, "the plugin is loaded");
	check_single_calls();
	check_group();
	check_rest();
	return failed;
}
