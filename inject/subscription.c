#include "subscription.h"

#include <stddef.h>

#include "activity_buffers.h"
#include "cupti_library.h"
#include "definition_writer.h"
#include "graph_callback.h"
#include "launch_cbid.h"
#include "lifecycle.h"
#include "proto/record_options.h"
#include "stream_names.h"

static const struct {
	uint32_t kind;
	const char *name; /* NULL: nothing is said if it is refused */
} kinds[] = {
	{CUPTI_ABI_KIND_CONCURRENT_KERNEL, "kernels"},
	{CUPTI_ABI_KIND_MEMCPY, "copies"},
	/* Peer copies come with copies in most versions, and some refuse to hear of them. */
	{CUPTI_ABI_KIND_MEMCPY_PEER, NULL},
	{CUPTI_ABI_KIND_MEMSET, "memsets"},
	{CUPTI_ABI_KIND_STREAM, NULL},
	{CUPTI_ABI_KIND_CONTEXT, NULL},
};

static struct {
	const struct cupti_library *library;
	const struct subscription_events *events;
	struct launch_callback launch;
	void *subscriber;
	enum graph_mode graphs;
} self;

static void on_resource(uint32_t cbid, const struct cupti_resource_data *data)
{
	switch (cbid) {
	case CUPTI_ABI_RESOURCE_INIT_FINISHED:
		self.events->init_finished();
		break;
	case CUPTI_ABI_RESOURCE_CONTEXT_CREATED:
		self.events->context_created();
		break;
	case CUPTI_ABI_RESOURCE_STREAM_CREATED:
		stream_names_created(data);
		break;
	case CUPTI_ABI_RESOURCE_STREAM_DESTROYED:
		stream_names_destroyed(data);
		break;
	case CUPTI_ABI_RESOURCE_NODE_CREATED:
		graph_callback_created(&self.launch, self.library, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_NODE_UPDATED:
		graph_callback_updated(&self.launch, self.library, data->descriptor);
		break;
	case CUPTI_ABI_RESOURCE_NODE_CLONED:
		graph_callback_copied(&self.launch, self.library, data->descriptor);
		break;
	default:
		break;
	}
}

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct cupti_callback_data *call = data;

	(void)user;
	if (lifecycle_state() != LIFECYCLE_ON)
		return;
	if (domain == CUPTI_ABI_DOMAIN_DRIVER) {
		if (call->site == CUPTI_ABI_API_ENTER)
			launch_callback_enter(&self.launch, cbid, call);
		else
			launch_callback_exit(&self.launch, cbid, call);
	} else if (domain == CUPTI_ABI_DOMAIN_RESOURCE) {
		on_resource(cbid, data);
	} else if (domain == CUPTI_ABI_DOMAIN_STATE && cbid == CUPTI_ABI_STATE_FATAL_ERROR) {
		self.events->failed();
	}
}

int subscription_open(const struct cupti_library *library)
{
	self.library = library;
	return library->subscribe(&self.subscriber, on_callback, NULL);
}

void subscription_close(void)
{
	self.library->unsubscribe(self.subscriber);
}

static void set_attribute(enum cupti_attribute attribute)
{
	uint8_t one = 1;
	size_t size = sizeof(one);

	/* Unknown to this version: CUPTI then zeroes buffers itself, or shares them between
	 * threads. Both work. */
	if (self.library->activity_set_attribute)
		self.library->activity_set_attribute(attribute, &size, &one);
}

/* CUPTI 12.3 to 12.9 has per-thread buffers, but off; must come before the callbacks are
 * registered. */
static void set_attributes(void)
{
	uint32_t version = self.library->version;

	if (version >= CUPTI_ABI_VERSION_12_3 && version < CUPTI_ABI_VERSION_13_0)
		set_attribute(CUPTI_ABI_ATTRIBUTE_THREAD_BUFFERS);
	set_attribute(CUPTI_ABI_ATTRIBUTE_ZEROED_BUFFERS);
}

/* So that a name which the program gives to a stream's handle can be told by its ids. */
static void enable_streams(uint32_t record, struct definition_writer *definitions)
{
	static const uint32_t resources[] = {CUPTI_ABI_RESOURCE_STREAM_CREATED,
					     CUPTI_ABI_RESOURCE_STREAM_DESTROYED};

	stream_names_on(self.library, definitions);
	if (!(record & RECORD_OPTION_NVTX))
		return;
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		self.library->enable_callback(1, self.subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
					      resources[i]);
}

static int enable_launches(uint32_t record)
{
	const uint32_t resources[] = {CUPTI_ABI_RESOURCE_CONTEXT_CREATED,
				      CUPTI_ABI_RESOURCE_INIT_FINISHED};
	int first_error = CUPTI_ABI_SUCCESS;
	uint32_t nr_enabled = 0;

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		self.library->enable_callback(1, self.subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
					      resources[i]);
	self.library->enable_callback(1, self.subscriber, CUPTI_ABI_DOMAIN_STATE,
				      CUPTI_ABI_STATE_FATAL_ERROR);
	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++) {
		if (launch_cbids[i].option && !(launch_cbids[i].option & record))
			continue;
		/* Calls that are younger than this CUPTI are refused one by one. */
		int result = self.library->enable_callback(
			1, self.subscriber, CUPTI_ABI_DOMAIN_DRIVER, launch_cbids[i].cbid);

		if (result == CUPTI_ABI_SUCCESS)
			nr_enabled++;
		else if (first_error == CUPTI_ABI_SUCCESS)
			first_error = result;
	}
	return nr_enabled ? CUPTI_ABI_SUCCESS : first_error;
}

/* One record a graph takes the place of those of its nodes, so it is on only if asked for. */
static void enable_graphs(enum graph_mode graphs, struct definition_writer *notices)
{
	static const uint32_t resources[] = {CUPTI_ABI_RESOURCE_NODE_CREATED,
					     CUPTI_ABI_RESOURCE_NODE_CLONED,
					     CUPTI_ABI_RESOURCE_NODE_UPDATED};
	int result;

	if (graphs == GRAPH_MODE_LAUNCH) {
		result = self.library->activity_enable(CUPTI_ABI_KIND_GRAPH);
		if (result != CUPTI_ABI_SUCCESS)
			definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
						 "CUPTI does not record whole graphs (error %d)",
						 result);
		return;
	}
	if (!self.launch.nodes || !self.library->get_graph_node_id)
		return;
	/* What this version does not know is refused: then updated nodes keep their stacks. */
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		self.library->enable_callback(1, self.subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
					      resources[i]);
}

static void enable_activity(struct definition_writer *notices)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int result = self.library->activity_enable(kinds[i].kind);

		if (result != CUPTI_ABI_SUCCESS && kinds[i].name)
			definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
						 "CUPTI does not record %s (error %d)",
						 kinds[i].name, result);
	}
}

int subscription_start(const struct launch_callback *launch,
		       const struct subscription_events *events, enum graph_mode graphs,
		       uint32_t record, struct definition_writer *notices)
{
	int result;

	self.launch = *launch;
	self.events = events;
	self.graphs = graphs;
	set_attributes();
	enable_streams(record, notices);
	result = self.library->activity_register_callbacks(activity_buffers_request,
							   activity_buffers_complete);
	if (result != CUPTI_ABI_SUCCESS)
		definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
					 "CUPTI takes no activity buffers (error %d)", result);
	else
		enable_activity(notices);

	enable_graphs(graphs, notices);
	int launches = enable_launches(record);
	if (launches == CUPTI_ABI_SUCCESS)
		return CUPTI_ABI_SUCCESS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		self.library->activity_disable(kinds[i].kind);
	subscription_close();
	return launches;
}

void subscription_take_up(bool callbacks)
{
	if (callbacks)
		self.library->activity_register_callbacks(activity_buffers_request,
							  activity_buffers_complete);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		self.library->activity_enable(kinds[i].kind);
	if (self.graphs == GRAPH_MODE_LAUNCH)
		self.library->activity_enable(CUPTI_ABI_KIND_GRAPH);
}
