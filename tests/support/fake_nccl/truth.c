#include "truth.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "group.h"
#include "profiler.h"

static _Thread_local uint32_t depth;

struct log {
	const char *variable;
	int fd;
	pid_t pid;
};

static struct log calls = {"FAKE_NCCL_TRUTH", -1, 0}, told = {"FAKE_NCCL_TASKS", -1, 0};
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t truth_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* %p in the name becomes the process id. A forked child has a file of its own. */
static void open_log(struct log *log)
{
	const char *pattern = getenv(log->variable);
	const char *mark = pattern ? strstr(pattern, "%p") : NULL;
	char path[PATH_MAX];

	log->pid = getpid();
	log->fd = -1;
	if (!pattern || !*pattern)
		return;
	if (mark)
		snprintf(path, sizeof(path), "%.*s%d%s", (int)(mark - pattern), pattern,
			 (int)getpid(), mark + 2);
	else
		snprintf(path, sizeof(path), "%s", pattern);
	log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void write_line(struct log *log, const char *line)
{
	pthread_mutex_lock(&truth_lock);
	if (log->pid != getpid())
		open_log(log);
	if (log->fd >= 0 && write(log->fd, line, strlen(line)) < 0)
		abort();
	pthread_mutex_unlock(&truth_lock);
}

void truth_enter(void)
{
	depth++;
}

void truth_leave(void)
{
	depth--;
}

bool truth_is_within(void)
{
	return depth > 0;
}

static const char *const functions[FAKE_FUNCTIONS] = {
	[FAKE_ALL_REDUCE] = "all_reduce",
	[FAKE_BROADCAST] = "broadcast",
	[FAKE_REDUCE] = "reduce",
	[FAKE_ALL_GATHER] = "all_gather",
	[FAKE_SEND] = "send",
	[FAKE_REDUCE_SCATTER] = "reduce_scatter",
	[FAKE_RECV] = "recv",
	[FAKE_ALL_TO_ALL] = "all_to_all",
	[FAKE_GATHER] = "gather",
	[FAKE_SCATTER] = "scatter",
};

static const struct {
	const char *name;
	size_t size;
} types[ncclNumTypes] = {
	[ncclInt8] = {"int8", 1},
	[ncclUint8] = {"uint8", 1},
	[ncclInt32] = {"int32", 4},
	[ncclUint32] = {"uint32", 4},
	[ncclInt64] = {"int64", 8},
	[ncclUint64] = {"uint64", 8},
	[ncclFloat16] = {"float16", 2},
	[ncclFloat32] = {"float32", 4},
	[ncclFloat64] = {"float64", 8},
	[ncclBfloat16] = {"bfloat16", 2},
	[ncclFloat8e4m3] = {"float8_e4m3", 1},
	[ncclFloat8e5m2] = {"float8_e5m2", 1},
};

size_t truth_type_size(int data_type)
{
	return types[data_type].size;
}

static int tid(void)
{
	return (int)syscall(SYS_gettid);
}

void truth_write_call(const struct truth_call *call)
{
	struct ncclComm *comm = (struct ncclComm *)call->comm;
	bool known = call->data_type >= 0 && call->data_type < ncclNumTypes;
	uint64_t sequence = 0, function_sequence = 0;
	char line[512], peer[16] = "";

	if (depth != 1)
		return;
	if (comm && call->result == ncclSuccess) {
		sequence = ++comm->sequence;
		function_sequence = ++comm->function_sequences[call->function];
	}
	if (call->peer >= 0)
		snprintf(peer, sizeof(peer), "%d", call->peer);
	snprintf(line, sizeof(line),
		 "call\t%d\t%d\t%016" PRIx64 "\t%u\t%u\t%" PRIu64 "\t%" PRIu64
		 "\t%s\t%s\t%zu\t%zu\t%s\t%" PRIu64 "\t%d\t%" PRIu64 "\t%" PRIu64 "\n",
		 (int)getpid(), tid(), comm ? comm->key : 0, comm ? comm->rank : 0,
		 comm ? comm->nr_ranks : 0, sequence, function_sequence, functions[call->function],
		 known ? types[call->data_type].name : "", call->count,
		 known ? call->count * types[call->data_type].size : 0, peer, group_number(),
		 (int)call->result, call->start_ns, truth_now_ns());
	write_line(&calls, line);
}

void truth_write_group(uint64_t group, uint64_t start_ns, ncclResult_t result)
{
	char line[256];

	if (depth != 1)
		return;
	snprintf(line, sizeof(line), "group\t%d\t%d\t%" PRIu64 "\t%d\t%" PRIu64 "\t%" PRIu64 "\n",
		 (int)getpid(), tid(), group, (int)result, start_ns, truth_now_ns());
	write_line(&calls, line);
}

void truth_write_communicator(const struct ncclComm *comm)
{
	char line[256];

	snprintf(line, sizeof(line), "communicator\t%d\t%016" PRIx64 "\t%u\t%u\n", (int)getpid(),
		 comm->key, comm->rank, comm->nr_ranks);
	write_line(&calls, line);
}

static void write_task(struct ncclComm *comm, const struct profiler_task *task, uint64_t plan)
{
	const bool in_bytes = task->function == FAKE_ALL_GATHER || task->function == FAKE_BROADCAST;
	const bool has_peer =
		task->p2p || task->function == FAKE_BROADCAST || task->function == FAKE_REDUCE;
	uint64_t sequence = 0, function_sequence = 0;
	char line[512], peer[16] = "";

	if (!task->captured) {
		sequence = ++comm->nr_told;
		function_sequence =
			task->p2p ? ++comm->nr_told_by_peer[task->function == FAKE_SEND][task->peer]
				  : ++comm->nr_told_by[task->function];
	}
	if (has_peer)
		snprintf(peer, sizeof(peer), "%d", task->peer);
	snprintf(line, sizeof(line),
		 "task\t%d\t%d\t%016" PRIx64 "\t%u\t%u\t%" PRIu64 "\t%" PRIu64
		 "\t%s\t%s\t%zu\t%" PRIu64 "\t%s\t%" PRIu64 "\t%d\n",
		 (int)getpid(), tid(), comm_hash(&comm->hash, sizeof(comm->hash)), comm->rank,
		 comm->nr_ranks, sequence, function_sequence, functions[task->function],
		 in_bytes ? "int8" : types[task->data_type].name,
		 in_bytes ? (size_t)task->bytes : task->count, task->bytes, peer, plan,
		 task->captured);
	write_line(&told, line);
}

void truth_write_plan(struct ncclComm *comm, const struct profiler_task *tasks, uint32_t nr_tasks,
		      const char *kernel)
{
	static _Atomic uint64_t nr_plans;
	char line[512];
	uint64_t plan = ++nr_plans;

	snprintf(line, sizeof(line), "plan\t%d\t%d\t%" PRIu64 "\t%016" PRIx64 "\t%s\t%u\n",
		 (int)getpid(), tid(), plan, comm_hash(&comm->hash, sizeof(comm->hash)), kernel,
		 nr_tasks);
	write_line(&told, line);
	for (uint32_t i = 0; i < nr_tasks; i++)
		write_task(comm, &tasks[i], plan);
}
