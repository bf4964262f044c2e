#include "profiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler_interface.h"
#include "truth.h"

#define NEWEST        7u
#define DEFAULT_KNOWN 5u /* of NCCL 2.28 */

static struct {
	pthread_mutex_t lock;
	void *library;
	struct told_plugin *plugin; /* NULL: none */
	uint32_t version, known;    /* the plugin's; the newest that this NCCL has */
	uint32_t nr_users;
	bool failed;
} profiler = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int activation_mask; /* the plugin's word, of the whole process */

static _Thread_local struct {
	int mask;
	bool in_group;
	void *group_api;
} thread;

static const struct {
	const char *name;
	uint8_t number; /* in version 1 */
} functions[FAKE_FUNCTIONS] = {
	[FAKE_ALL_REDUCE] = {"AllReduce", 4},
	[FAKE_BROADCAST] = {"Broadcast", 0},
	[FAKE_REDUCE] = {"Reduce", 1},
	[FAKE_ALL_GATHER] = {"AllGather", 2},
	[FAKE_REDUCE_SCATTER] = {"ReduceScatter", 3},
	[FAKE_SEND] = {"Send", 6},
	[FAKE_RECV] = {"Recv", 7},
	[FAKE_ALL_TO_ALL] = {"AlltoAll", 8},
	[FAKE_GATHER] = {"Gather", 9},
	[FAKE_SCATTER] = {"Scatter", 10},
};

static const char *const types[ncclNumTypes] = {
	"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
	"ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
	"ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2",
};

const char *profiler_function_name(enum fake_function function)
{
	return functions[function].name;
}

/* ---- the plugin */

static uint32_t known_version(void)
{
	const char *wanted = getenv("FAKE_NCCL_PROFILER");
	unsigned int version;

	if (wanted && sscanf(wanted, "v%u", &version) == 1 && version <= NEWEST)
		return version;
	return DEFAULT_KNOWN;
}

static void find_plugin(void)
{
	char symbol[32];

	for (uint32_t version = profiler.known; version > 0 && !profiler.plugin; version--) {
		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%u", version);
		profiler.plugin = dlsym(profiler.library, symbol);
		profiler.version = version;
	}
}

/* What could not be loaded once is not tried again. The lock is held. */
static void load(void)
{
	const char *path = getenv("NCCL_PROFILER_PLUGIN");

	profiler.known = known_version();
	if (path && *path && strcasecmp(path, "none") != 0)
		profiler.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (profiler.library)
		find_plugin();
	if (!profiler.plugin && profiler.library)
		dlclose(profiler.library);
	profiler.failed = !profiler.plugin;
}

void profiler_begin(struct ncclComm *comm)
{
	pthread_mutex_lock(&profiler.lock);
	if (!profiler.plugin && !profiler.failed)
		load();
	struct told_plugin *plugin = profiler.plugin;
	if (plugin)
		profiler.nr_users++;
	pthread_mutex_unlock(&profiler.lock);
	if (!plugin)
		return;
	comm->profiled = true;
	if (profiler.version < 4)
		plugin->init_1(&comm->profiler_context, &activation_mask);
	else if (profiler.version == 4)
		plugin->init_4(&comm->profiler_context, &activation_mask, NULL, comm->hash, 1,
			       (int)comm->nr_ranks, (int)comm->rank, NULL);
	else
		plugin->init_5(&comm->profiler_context, comm->hash, &activation_mask, NULL, 1,
			       (int)comm->nr_ranks, (int)comm->rank, NULL);
}

void profiler_end(struct ncclComm *comm)
{
	if (!comm->profiled)
		return;
	comm->profiled = false;
	if (comm->profiler_context)
		profiler.plugin->finalize(comm->profiler_context);
	pthread_mutex_lock(&profiler.lock);
	if (--profiler.nr_users == 0) {
		dlclose(profiler.library);
		profiler.library = NULL;
		profiler.plugin = NULL;
	}
	pthread_mutex_unlock(&profiler.lock);
}

/* ---- events */

/* What NCCL makes of its newest descriptor for an older plugin. */
static void tell(struct ncclComm *comm, void **handle, uint32_t type, void *parent, int rank,
		 const union told_body *body)
{
	struct told_event_1 event_1;
	struct told_event_5 event_5;

	memset(&event_1, 0, sizeof(event_1));
	memset(&event_5, 0, sizeof(event_5));
	if (profiler.version < 5) {
		if (type > TOLD_NET_PLUGIN)
			return;
		event_1.head = (struct told_head_1){(uint8_t)type, parent, rank};
		event_1.body = *body;
		profiler.plugin->start(comm->profiler_context, handle, &event_1);
		return;
	}
	event_5.head = (struct told_head_5){type, parent, rank};
	event_5.body = *body;
	profiler.plugin->start(comm->profiler_context, handle, &event_5);
}

static bool has_api(void)
{
	return profiler.known >= 5;
}

static void tell_api(struct profiler_task *task)
{
	const int ours =
		task->p2p ? TOLD_P2P_API | TOLD_P2P : TOLD_COLLECTIVE_API | TOLD_COLLECTIVE;
	const char *function = functions[task->function].name;
	union told_body body;

	memset(&body, 0, sizeof(body));
	if (!thread.in_group && thread.mask) {
		body.group_api = (struct told_group_api){task->captured, 1};
		tell(task->comm, &thread.group_api, TOLD_GROUP_API, NULL, 0, &body);
		thread.in_group = true;
	}
	if (!(thread.mask & (ours | TOLD_PROXY_OP | TOLD_PROXY_STEP | TOLD_KERNEL_CHANNEL)))
		return;
	memset(&body, 0, sizeof(body));
	if (task->p2p)
		body.p2p_api = (struct told_p2p_api){function, task->count, types[task->data_type],
						     task->stream, task->captured};
	else
		body.collective_api = (struct told_collective_api){function,
								   task->count,
								   types[task->data_type],
								   task->peer < 0 ? 0 : task->peer,
								   task->stream,
								   task->captured};
	tell(task->comm, &task->api, task->p2p ? TOLD_P2P_API : TOLD_COLLECTIVE_API,
	     thread.group_api, 0, &body);
	if (task->api)
		profiler.plugin->stop(task->api);
}

void profiler_called(struct profiler_task *task)
{
	if (!task->comm->profiled)
		return;
	thread.mask = activation_mask;
	if (has_api())
		tell_api(task);
}

void profiler_group_ends(void)
{
	if (thread.group_api)
		profiler.plugin->record(thread.group_api, 24, NULL);
}

void profiler_group_is_over(void)
{
	if (thread.group_api)
		profiler.plugin->stop(thread.group_api);
	thread.group_api = NULL;
	thread.in_group = false;
}

static _Thread_local void *launch_handle;

void profiler_launches(struct ncclComm *comm, cudaStream_t stream)
{
	union told_body body;

	if (!comm->profiled || !has_api() || !(thread.mask & TOLD_KERNEL_LAUNCH))
		return;
	memset(&body, 0, sizeof(body));
	body.launch_stream = stream;
	tell(comm, &launch_handle, TOLD_KERNEL_LAUNCH, thread.group_api, 0, &body);
}

void profiler_launched(void)
{
	if (launch_handle)
		profiler.plugin->stop(launch_handle);
	launch_handle = NULL;
}

/* NCCL counts all_gather's and broadcast's elements in bytes. */
static bool is_in_bytes(enum fake_function function)
{
	return function == FAKE_ALL_GATHER || function == FAKE_BROADCAST;
}

static void fill_collective(union told_body *body, const struct profiler_task *task, void *group)
{
	const bool in_bytes = is_in_bytes(task->function);
	const int type = in_bytes ? ncclInt8 : task->data_type;
	const size_t count = in_bytes ? task->bytes : task->count;
	const char *function = functions[task->function].name;
	const int root = task->peer < 0 ? 0 : task->peer;
	/* An NCCL that is younger than the plugin does not tell it the hash. */
	const uint64_t hash = profiler.known == profiler.version ? task->comm->hash : 0;
	const uint64_t sequence = task->comm->profiler_sequences[task->function];

	if (profiler.version == 1)
		body->collective_1 =
			(struct told_collective_1){.hash = hash,
						   .sequence = sequence,
						   .function = functions[task->function].number,
						   .count = count,
						   .root = root,
						   .type = (uint8_t)type,
						   .op = (uint32_t)task->op};
	else if (profiler.version < 4)
		body->collective_2 = (struct told_collective_2){.hash = hash,
								.sequence = sequence,
								.function = function,
								.count = count,
								.root = root,
								.type = types[type]};
	else
		body->collective_4 = (struct told_collective_4){.sequence = sequence,
								.function = function,
								.count = count,
								.root = root,
								.type = types[type],
								.algorithm = "RING",
								.protocol = "LL",
								.group = group};
}

static void fill_p2p(union told_body *body, const struct profiler_task *task, void *group)
{
	const uint64_t hash = profiler.known == profiler.version ? task->comm->hash : 0;
	const char *function = functions[task->function].name, *type = types[task->data_type];

	if (profiler.version == 1)
		body->p2p_1 = (struct told_p2p_1){.hash = hash,
						  .function = functions[task->function].number,
						  .type = (uint8_t)task->data_type,
						  .count = task->count,
						  .peer = task->peer};
	else if (profiler.version < 4)
		body->p2p_2 = (struct told_p2p_2){.hash = hash,
						  .function = function,
						  .type = type,
						  .count = task->count,
						  .peer = task->peer};
	else
		body->p2p_4 = (struct told_p2p_4){.function = function,
						  .type = type,
						  .count = task->count,
						  .peer = task->peer,
						  .group = group};
}

static void tell_task(struct profiler_task *task, void *group)
{
	union told_body body;

	memset(&body, 0, sizeof(body));
	if (task->p2p)
		fill_p2p(&body, task, group);
	else
		fill_collective(&body, task, group);
	tell(task->comm, &task->handle, task->p2p ? TOLD_P2P : TOLD_COLLECTIVE,
	     profiler.version < 5 ? group : task->api, (int)task->comm->rank, &body);
}

/* Up to version 4 an NCCL tells of tasks only where the plugin has taken the group. */
static bool tells(const struct profiler_task *task, const void *group)
{
	return task->comm->profiled && (profiler.known >= 5 || group) &&
	       thread.mask & (task->p2p ? TOLD_P2P : TOLD_COLLECTIVE);
}

void profiler_posted(struct ncclComm *comm, struct profiler_task *tasks, uint32_t nr_tasks)
{
	union told_body nothing;
	void *group = NULL;

	memset(&nothing, 0, sizeof(nothing));
	if (comm->profiled && thread.mask & (TOLD_GROUP | TOLD_COLLECTIVE | TOLD_P2P))
		tell(comm, &group, TOLD_GROUP, NULL, 0, &nothing);
	for (uint32_t i = 0; i < nr_tasks; i++) {
		if (tells(&tasks[i], group))
			tell_task(&tasks[i], group);
		if (!tasks[i].p2p && !tasks[i].captured)
			comm->profiler_sequences[tasks[i].function]++;
	}
	for (uint32_t i = 0; i < nr_tasks; i++)
		if (tasks[i].handle)
			profiler.plugin->stop(tasks[i].handle);
	if (group)
		profiler.plugin->stop(group);
}
