#include "subscription.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "activity_buffers.h"
#include "green_contexts.h"

#include "inject/base/definition_writer.h"
#include "inject/beside/shared_objects.h"
#include "inject/beside/shared_session.h"
#include "inject/beside/shared_subscriber.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/stream_names.h"
#include "inject/launch/api_statistics.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/window_cbid.h"
#include "inject/launch/window_word.h"
#include "inject/metrics/capture_calls.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/sampling/kernel_sampler.h"
#include "proto/options/record_options.h"

static const struct {
	uint32_t kind;
	const char *name; /* NULL: no notice if CUPTI refuses it */
	uint32_t since;   /* cuptiGetVersion(): in older versions the number meant nothing */
} kinds[] = {
	{CUPTI_ABI_KIND_CONCURRENT_KERNEL, "kernels", 0},
	{CUPTI_ABI_KIND_MEMCPY, "copies", 0},
	/* In most versions copies include peer copies. Some versions refuse this kind. */
	{CUPTI_ABI_KIND_MEMCPY_PEER, NULL, 0},
	{CUPTI_ABI_KIND_MEMSET, "memsets", 0},
	{CUPTI_ABI_KIND_STREAM, NULL, 0},
	{CUPTI_ABI_KIND_CONTEXT, NULL, 0},
	{CUPTI_ABI_KIND_GREEN_CONTEXT, NULL, CUPTI_ABI_VERSION_13_2},
};

/* Unified memory has to wait for the driver: unified_memory.h. */
static const struct {
	uint32_t option, kind;
	const char *name;
} optional_kinds[] = {
	{RECORD_OPTION_SYNC, CUPTI_ABI_KIND_SYNC, "waits"},
	{RECORD_OPTION_OVERHEAD, CUPTI_ABI_KIND_OVERHEAD, "overhead"},
	{RECORD_OPTION_MEMORY, CUPTI_ABI_KIND_ALLOCATION, "allocations"},
};

#define NR_OPTIONAL_KINDS (sizeof(optional_kinds) / sizeof(optional_kinds[0]))

static struct {
	const struct cupti_library *library;
	cupti_callback_fn *receive; /* the callbacks */
	void *subscriber;
	bool graphs;     /* one record per graph */
	uint32_t record; /* a set of enum record_option */
} self;

static const uint32_t resources[] = {CUPTI_ABI_RESOURCE_CONTEXT_CREATED,
				     CUPTI_ABI_RESOURCE_INIT_FINISHED};
static const uint32_t node_resources[] = {
	CUPTI_ABI_RESOURCE_NODE_CREATED,   CUPTI_ABI_RESOURCE_NODE_CLONED,
	CUPTI_ABI_RESOURCE_NODE_UPDATED,   CUPTI_ABI_RESOURCE_GRAPH_CREATED,
	CUPTI_ABI_RESOURCE_NODE_DESTROYED, CUPTI_ABI_RESOURCE_EXEC_STARTING,
	CUPTI_ABI_RESOURCE_EXEC_CREATED,   CUPTI_ABI_RESOURCE_EXEC_DESTROYED};
static const uint32_t stream_resources[] = {CUPTI_ABI_RESOURCE_STREAM_CREATED,
					    CUPTI_ABI_RESOURCE_STREAM_DESTROYED};

static const uint32_t sampling_resources[] = {CUPTI_ABI_RESOURCE_MODULE_LOADED,
					      CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

int subscription_open(const struct cupti_library *library, cupti_callback_fn *receive)
{
	int result = library->subscribe(&self.subscriber, receive, NULL);

	self.library = library;
	self.receive = receive;
	if (result == CUPTI_ABI_SUCCESS) {
		shared_subscriber_held(library, self.subscriber);
		shared_objects_begin(library);
	} else {
		shared_subscriber_lost();
	}
	return result;
}

/* Undoes the newer subscription if it succeeds because the holder has just left. If it stayed, it would keep Kineto
 * out. */
void subscription_holder(const struct cupti_library *library, char name[static CUPTI_ABI_NAME_SIZE])
{
	struct cupti_subscriber_params params = {
		.size = sizeof(params),
		.name = "Flamegrid",
		.old_name = name,
		.old_name_size = CUPTI_ABI_NAME_SIZE,
	};
	void *subscriber = NULL;

	memset(name, 0, CUPTI_ABI_NAME_SIZE);
	if (library->subscribe_v2 &&
	    library->subscribe_v2(&subscriber, self.receive, NULL, &params) == CUPTI_ABI_SUCCESS)
		library->unsubscribe(subscriber);
	name[CUPTI_ABI_NAME_SIZE - 1] = '\0';
}

void subscription_close(void)
{
	shared_subscriber_lost();
	self.library->unsubscribe(self.subscriber);
}

static void set_attribute(enum cupti_attribute attribute)
{
	uint8_t one = 1;
	size_t size = sizeof(one);

	/* A version that does not know the attribute zeroes buffers itself, or shares them between threads. Both
	 * work. */
	if (self.library->activity_set_attribute)
		self.library->activity_set_attribute(attribute, &size, &one);
}

/* Switches zeroed buffers on, and per-thread buffers, which CUPTI 12.3 to 12.9 has but leaves off. It must come before
 * the callbacks are registered. */
static void set_attributes(void)
{
	uint32_t version = self.library->version;

	if (version >= CUPTI_ABI_VERSION_12_3 && version < CUPTI_ABI_VERSION_13_0)
		set_attribute(CUPTI_ABI_ATTRIBUTE_THREAD_BUFFERS);
	set_attribute(CUPTI_ABI_ATTRIBUTE_ZEROED_BUFFERS);
}

static void set_resources(const uint32_t *cbids, size_t nr, uint32_t enable)
{
	for (size_t i = 0; i < nr; i++)
		shared_subscriber_enable(enable, CUPTI_ABI_DOMAIN_RESOURCE, cbids[i]);
}

/* Enables the callbacks of streams, so that a name that the program gives to a stream's handle can be matched to its
 * ids. */
static void enable_streams(struct definition_writer *definitions)
{
	stream_names_on(self.library, definitions);
	green_contexts_on(definitions, self.library->version);
	if (self.record & RECORD_OPTION_NVTX)
		set_resources(stream_resources, NR(stream_resources), 1);
}

/* Enables or disables the window's calls. CUPTI refuses one by one those that it does not know. */
static int set_window_calls(uint32_t enable, bool profiler_only)
{
	int result = CUPTI_ABI_SUCCESS;

	for (uint32_t cbid = 0; cbid < WINDOW_CBIDS; cbid++) {
		enum window_role role = window_cbid_role(cbid);
		bool profiler =
			role == WINDOW_ROLE_PROFILER_START || role == WINDOW_ROLE_PROFILER_STOP;

		if (role == WINDOW_ROLE_NONE || (profiler_only && !profiler))
			continue;
		int answer = self.library->enable_callback(enable, self.subscriber,
							   CUPTI_ABI_DOMAIN_DRIVER, cbid);
		if (profiler)
			result = answer;
	}
	return result;
}

int subscription_listen(void)
{
	return set_window_calls(1, true);
}

void subscription_hear_of_code(uint32_t record)
{
	if (record & RECORD_OPTION_STALLS)
		set_resources(sampling_resources, NR(sampling_resources), 1);
}

/* What is not measured has to be known: streams that are captured, and contexts that are destroyed. */
static void hear_of_captures(void)
{
	shared_subscriber_enable(1, CUPTI_ABI_DOMAIN_RESOURCE,
				 CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED);
	for (uint32_t i = 0; i < CAPTURE_CALLS; i++)
		self.library->enable_callback(1, self.subscriber, CUPTI_ABI_DOMAIN_DRIVER,
					      capture_calls[i]);
}

static int enable_launches(uint32_t record)
{
	int first_error = CUPTI_ABI_SUCCESS;
	uint32_t nr_enabled = 0;

	set_resources(resources, NR(resources), 1);
	subscription_hear_of_code(record);
	shared_subscriber_enable(1, CUPTI_ABI_DOMAIN_STATE, CUPTI_ABI_STATE_FATAL_ERROR);
	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++) {
		if (launch_cbids[i].option && !(launch_cbids[i].option & record))
			continue;
		/* CUPTI refuses one by one the calls that are younger than it. */
		int result = self.library->enable_callback(
			1, self.subscriber, CUPTI_ABI_DOMAIN_DRIVER, launch_cbids[i].cbid);

		if (result == CUPTI_ABI_SUCCESS)
			nr_enabled++;
		else if (first_error == CUPTI_ABI_SUCCESS)
			first_error = result;
	}
	if (record & RECORD_OPTION_METRICS)
		hear_of_captures();
	api_statistics_enable(self.library, self.subscriber, 1);
	return nr_enabled ? CUPTI_ABI_SUCCESS : first_error;
}

/* Enables records of whole graphs only if asked for, because such a record replaces those of the graph's nodes. */
static void enable_graphs(enum graph_mode graphs, bool nodes, struct definition_writer *notices)
{
	int result;

	self.graphs = graphs == GRAPH_MODE_LAUNCH;

	if (graphs == GRAPH_MODE_LAUNCH) {
		result = self.library->activity_enable(CUPTI_ABI_KIND_GRAPH);
		if (result != CUPTI_ABI_SUCCESS)
			definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
						 "CUPTI does not record whole graphs (error %d)",
						 result);
		return;
	}
	if (!nodes || !self.library->get_graph_node_id)
		return;
	/* CUPTI refuses callbacks that it does not know; updated nodes then keep their stacks. */
	set_resources(node_resources, NR(node_resources), 1);
}

static void enable_optional(struct definition_writer *notices)
{
	/* Programs poll often, so there is no record of each time that an event or stream was not done. */
	if (self.record & RECORD_OPTION_SYNC && self.library->activity_enable_all_sync_records)
		self.library->activity_enable_all_sync_records(0);
	for (size_t i = 0; i < NR_OPTIONAL_KINDS; i++) {
		if (!(self.record & optional_kinds[i].option))
			continue;
		int result = self.library->activity_enable(optional_kinds[i].kind);

		if (result != CUPTI_ABI_SUCCESS)
			definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
						 "CUPTI does not record %s (error %d)",
						 optional_kinds[i].name, result);
	}
}

/* Disables a kind, unless another user's session has enabled it. */
static void disable_kind(uint32_t kind)
{
	if (!shared_session_has_kind(kind))
		self.library->activity_disable(kind);
}

static void disable_activity(void)
{
	for (size_t i = 0; i < NR(kinds); i++)
		if (self.library->version >= kinds[i].since)
			disable_kind(kinds[i].kind);
	for (size_t i = 0; i < NR_OPTIONAL_KINDS; i++)
		if (self.record & optional_kinds[i].option)
			disable_kind(optional_kinds[i].kind);
	if (self.graphs)
		disable_kind(CUPTI_ABI_KIND_GRAPH);
}

static void enable_activity(struct definition_writer *notices)
{
	for (size_t i = 0; i < NR(kinds); i++) {
		if (self.library->version < kinds[i].since)
			continue;
		int result = self.library->activity_enable(kinds[i].kind);

		if (result != CUPTI_ABI_SUCCESS && kinds[i].name)
			definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
						 "CUPTI does not record %s (error %d)",
						 kinds[i].name, result);
	}
	enable_optional(notices);
}

static void register_and_enable(struct definition_writer *notices)
{
	int result = self.library->activity_register_callbacks(activity_buffers_request,
							       activity_buffers_complete);

	shared_session_take_back();
	if (result != CUPTI_ABI_SUCCESS)
		definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
					 "CUPTI takes no activity buffers (error %d)", result);
	else
		enable_activity(notices);
}

int subscription_start(enum graph_mode graphs, bool nodes, uint32_t record,
		       struct definition_writer *notices)
{
	self.record = record;
	set_attributes();
	enable_streams(notices);
	/* If another user's session is on, it goes on, and the kinds are enabled after it. */
	if (!shared_session_is_on())
		register_and_enable(notices);
	enable_graphs(graphs, nodes, notices);
	if (!window_word_is_plain())
		set_window_calls(1, false);
	int launches = enable_launches(record);
	if (launches == CUPTI_ABI_SUCCESS)
		return CUPTI_ABI_SUCCESS;
	disable_activity();
	subscription_close();
	return launches;
}

void subscription_take_up(bool callbacks)
{
	if (callbacks) {
		self.library->activity_register_callbacks(activity_buffers_request,
							  activity_buffers_complete);
		shared_session_take_back();
	}
	for (size_t i = 0; i < NR(kinds); i++)
		if (self.library->version >= kinds[i].since)
			self.library->activity_enable(kinds[i].kind);
	for (size_t i = 0; i < NR_OPTIONAL_KINDS; i++)
		if (self.record & optional_kinds[i].option)
			self.library->activity_enable(optional_kinds[i].kind);
	if (self.graphs)
		self.library->activity_enable(CUPTI_ABI_KIND_GRAPH);
}

void subscription_watch(void)
{
	set_window_calls(1, false);
}

void subscription_stop(void)
{
	/* Launch callbacks go on last and off first, so that each noted launch has its GPU record. */
	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++)
		self.library->enable_callback(0, self.subscriber, CUPTI_ABI_DOMAIN_DRIVER,
					      launch_cbids[i].cbid);
	set_window_calls(0, false);
	api_statistics_enable(self.library, self.subscriber, 0);
	subscription_pause();
}

void subscription_pause(void)
{
	set_resources(resources, NR(resources), 0);
	set_resources(node_resources, NR(node_resources), 0);
	set_resources(stream_resources, NR(stream_resources), 0);
	stream_names_forget();
	kernel_sampler_leave(false);
	if (self.record & RECORD_OPTION_METRICS)
		kernel_metrics_leave(false);
	shared_subscriber_enable(0, CUPTI_ABI_DOMAIN_STATE, CUPTI_ABI_STATE_FATAL_ERROR);
	disable_activity();
}

int subscription_finalize(void)
{
	int result;

	if (!self.library->finalize || !shared_subscriber_leave())
		return CUPTI_ABI_NOT_SUPPORTED;
	result = self.library->finalize();
	shared_subscriber_left(result == CUPTI_ABI_SUCCESS);
	return result;
}
