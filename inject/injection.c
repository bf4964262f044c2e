#include "injection.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "activity_buffers.h"
#include "agent_handshake.h"
#include "cupti_library.h"
#include "cupti_search.h"
#include "definition_writer.h"
#include "flush_thread.h"
#include "graph_nodes.h"
#include "launch_thread.h"
#include "lifecycle.h"
#include "module_watch.h"
#include "nvtx_ranges.h"
#include "proto/graph_mode.h"
#include "proto/handshake.h"
#include "proto/record_options.h"
#include "proto/record_ring.h"
#include "proto/stack_options.h"
#include "python_frames.h"
#include "stack_table.h"
#include "subscription.h"
#include "unwind_table.h"

#define FIRST_BUILD_NS 120000000u /* CPU time, of the thread that starts CUDA */

/* All of the guest, for the life of the process. */
static struct {
	struct record_ring *ring;
	struct definition_writer definitions;
	struct unwind_tables *tables;
	struct python_frames *python;
	struct graph_nodes *nodes;
	struct nvtx_names *ranges;
	struct stack_options options;
	enum graph_mode graphs;
	uint32_t record; /* a set of enum record_option */
	enum nvtx_digits digits;
	struct module_watch *modules;
	struct stack_table *stacks;
	struct cupti_library library;
	struct cupti_search search;
	uint16_t window;
} guest;

static void on_context_created(void)
{
	lifecycle_context_created();
	flush_thread_context_created();
}

static const struct subscription_events events = {
	.init_finished = flush_thread_init_finished,
	.context_created = on_context_created,
	.failed = flush_thread_cupti_failed,
};

/* With a flush thread the goodbye is its; should it not come in time, the process leaves without.
 */
static void at_end(void)
{
	flush_thread_stop();
	lifecycle_off();
}

/* Without CUPTI there is nothing to flush. */
static void at_end_idle(void)
{
	lifecycle_off();
	record_ring_finish(guest.ring);
}

/* The first libcupti that lets itself be subscribed to. Says what it found, or why nothing. */
static bool find_cupti(void)
{
	int result = CUPTI_ABI_SUCCESS;
	const char *path = "";

	cupti_search_process(&guest.search);
	for (uint32_t i = 0; i < guest.search.nr_candidates; i++) {
		const struct cupti_candidate *candidate = &guest.search.candidates[i];

		if (cupti_library_open(candidate->path, candidate->mapped, &guest.library) < 0)
			continue;
		path = candidate->path;
		result = subscription_open(&guest.library);
		if (result == CUPTI_ABI_SUCCESS) {
			definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FOUND,
						 (int32_t)guest.library.version, "CUPTI %u: %s",
						 guest.library.version, path);
			return true;
		}
		if (result == CUPTI_ABI_SUBSCRIBER_TAKEN) {
			definition_writer_notice(
				&guest.definitions, NOTICE_SUBSCRIBER_TAKEN, result,
				"another profiler holds CUPTI in this process (%s)", path);
			return false;
		}
	}
	if (result != CUPTI_ABI_SUCCESS)
		definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FAILED, result,
					 "%s cannot be used with this driver (CUPTI error %d)",
					 path, result);
	else
		definition_writer_notice(&guest.definitions, NOTICE_NO_CUPTI, 0,
					 "libcupti was not found; looked at: %s",
					 guest.search.looked);
	return false;
}

static bool prepare_launches(void)
{
	guest.stacks = stack_table_create(guest.ring);
	guest.python = python_frames_create(guest.ring);
	if (guest.record & RECORD_OPTION_NVTX)
		guest.ranges = nvtx_ranges_on(guest.digits);
	if (guest.graphs == GRAPH_MODE_NODES)
		guest.nodes = graph_nodes_create();
	if (guest.stacks && guest.python && launch_thread_init() == 0 &&
	    activity_buffers_init(guest.ring, &guest.definitions, &guest.library, guest.nodes,
				  guest.window) == 0)
		return true;
	definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FAILED, -ENOMEM,
				 "not enough memory for call stacks and activity buffers");
	subscription_close();
	return false;
}

static void read_options(void)
{
	const char *text = getenv(STACK_OPTIONS_ENV);

	if (stack_options_parse(text, &guest.options) < 0)
		definition_writer_notice(&guest.definitions, NOTICE_STACKS_OPTION, 0,
					 "%s=%s: not understood; the default is used",
					 STACK_OPTIONS_ENV, text);
	text = getenv(GRAPH_MODE_ENV);
	if (graph_mode_parse(text, &guest.graphs) < 0)
		definition_writer_notice(&guest.definitions, NOTICE_STACKS_OPTION, 0,
					 "%s=%s: not understood; the default is used",
					 GRAPH_MODE_ENV, text);
	text = getenv(RECORD_OPTIONS_ENV);
	if (record_options_parse(text, &guest.record) < 0)
		definition_writer_notice(&guest.definitions, NOTICE_STACKS_OPTION, 0,
					 "%s=%s: not understood; nothing more is recorded",
					 RECORD_OPTIONS_ENV, text);
	text = getenv(NVTX_DIGITS_ENV);
	if (nvtx_digits_parse(text, &guest.digits) < 0)
		definition_writer_notice(&guest.definitions, NOTICE_STACKS_OPTION, 0,
					 "%s=%s: not understood; the default is used",
					 NVTX_DIGITS_ENV, text);
}

static void define_window(void)
{
	struct definition_window window = {.window = guest.window};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	window.begin_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	definition_writer_put(&guest.definitions, DEFINITION_WINDOW, &window, sizeof(window), NULL,
			      0);
}

static bool wants_native(void)
{
	return guest.options.mode != STACK_MODE_NONE && guest.options.mode != STACK_MODE_PYTHON;
}

static bool wants_python(void)
{
	return guest.options.mode != STACK_MODE_NONE && guest.options.mode != STACK_MODE_NATIVE;
}

/* A small program is through with its launches before a helper thread has begun: what its stacks
 * need is made here, as far as that takes no time worth mentioning. Large processes have most left
 * to the helper, while CUDA starts. */
static void prepare_stacks(void)
{
	if (wants_python())
		python_frames_find(guest.python);
	if (wants_native())
		unwind_tables_build(guest.tables, FIRST_BUILD_NS);
}

/* Starts the flush thread before CUPTI is switched on, because its events go there. */
static bool capture(void)
{
	const struct flush_thread_parts parts = {
		.ring = guest.ring,
		.definitions = &guest.definitions,
		.modules = guest.modules,
		.stacks = guest.stacks,
		.tables = guest.tables,
		.python = guest.python,
		.library = &guest.library,
		.native_stacks = wants_native(),
		.python_stacks = wants_python(),
	};
	const struct launch_callback launch = {
		.ring = guest.ring,
		.capture = {.ring = guest.ring,
			    .stacks = guest.stacks,
			    .tables = guest.tables,
			    .python = guest.python,
			    .options = guest.options,
			    .ranges = guest.ranges},
		.nodes = guest.nodes,
		.window = guest.window,
	};
	int result;

	define_window();
	if (lifecycle_start(at_end) < 0 || flush_thread_start(&parts) < 0)
		return false;
	result = subscription_start(&launch, &events, guest.graphs, guest.record,
				    &guest.definitions);
	if (result != CUPTI_ABI_SUCCESS)
		definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FAILED, result,
					 "CUPTI reports no launches (error %d)", result);
	return true;
}

static void start(const char *socket_path)
{
	if (agent_handshake(socket_path, &guest.ring, &guest.window) < 0) {
		nvtx_ranges_off();
		return;
	}
	guest.definitions = DEFINITION_WRITER_INIT(guest.ring);
	read_options();
	guest.tables = unwind_tables_create(UNWIND_BYTES_MAX);
	guest.modules = module_watch_create(&guest.definitions, guest.tables);
	if (guest.tables && guest.modules && find_cupti() && prepare_launches()) {
		module_watch_poll(guest.modules, false);
		prepare_stacks();
		if (capture())
			return;
	}
	nvtx_ranges_off();
	/* The ring stays: its notices say why the profile is empty. */
	if (lifecycle_start(at_end_idle) == 0)
		lifecycle_off();
}

int InitializeInjection(void)
{
	static atomic_flag called = ATOMIC_FLAG_INIT;
	int saved_errno = errno;
	const char *socket_path = getenv(HANDSHAKE_SOCKET_ENV);

	/* A program that runs with more rights than its caller must not connect where its caller
	 * says. */
	if (socket_path && *socket_path && !getauxval(AT_SECURE) &&
	    !atomic_flag_test_and_set(&called))
		start(socket_path);
	errno = saved_errno;
	return 1;
}
