#include "injection.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "activity_buffers.h"
#include "agent_handshake.h"
#include "agent_watch.h"
#include "api_statistics.h"
#include "capture_window.h"
#include "cupti_library.h"
#include "cupti_search.h"
#include "definition_writer.h"
#include "flush_thread.h"
#include "graph_nodes.h"
#include "launch_thread.h"
#include "lifecycle.h"
#include "module_watch.h"
#include "nvtx_ranges.h"
#include "proto/api_options.h"
#include "proto/graph_mode.h"
#include "proto/handshake.h"
#include "proto/record_options.h"
#include "proto/record_ring.h"
#include "proto/stack_options.h"
#include "proto/window_options.h"
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
	struct window_options window_options;
	struct module_watch *modules;
	struct stack_table *stacks;
	struct cupti_library library;
	struct cupti_search search;
	struct agent_link link;
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
			api_statistics_init(guest.ring, &guest.library, getenv(API_OPTIONS_ENV),
					    guest.record, &guest.definitions);
			definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FOUND,
						 (int32_t)guest.library.version, "CUPTI %u: %s",
						 guest.library.version, path);
			return true;
		}
		if (result == CUPTI_ABI_SUBSCRIBER_TAKEN) {
			char holder[CUPTI_ABI_NAME_SIZE];

			subscription_holder(&guest.library, holder);
			definition_writer_notice(
				&guest.definitions, NOTICE_SUBSCRIBER_TAKEN, result,
				"another profiler holds CUPTI in this process%s%s (%s)",
				*holder ? ": " : "", holder, path);
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
	    activity_buffers_init(guest.ring, &guest.definitions, &guest.library, guest.nodes, 1) ==
		    0)
		return true;
	definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FAILED, -ENOMEM,
				 "not enough memory for call stacks and activity buffers");
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
	text = getenv(WINDOW_OPTIONS_ENV);
	if (window_options_parse(text, &guest.window_options) < 0)
		definition_writer_notice(&guest.definitions, NOTICE_STACKS_OPTION, 0,
					 "%s=%s: not understood; the whole run is captured",
					 WINDOW_OPTIONS_ENV, text);
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

static void prepare_windows(void)
{
	const struct capture_window_parts parts = {
		.ring = guest.ring,
		.definitions = &guest.definitions,
		.library = &guest.library,
		.find_cupti = find_cupti,
		.prepare = flush_thread_prepare,
		.wake = flush_thread_wake,
		.events = &events,
		.launch = {.ring = guest.ring,
			   .capture = {.ring = guest.ring,
				       .stacks = guest.stacks,
				       .tables = guest.tables,
				       .python = guest.python,
				       .options = guest.options,
				       .ranges = guest.ranges},
			   .nodes = guest.nodes},
		.options = guest.window_options,
		.graphs = guest.graphs,
		.record = guest.record,
	};

	capture_window_init(&parts);
}

static int start_flush_thread(bool late)
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
		.late = late,
		.soon = guest.window_options.range != WINDOW_RANGE_NONE,
		.record = guest.record,
	};

	return flush_thread_start(&parts);
}

/* Captured from the first call on. The flush thread starts before CUPTI is switched on, because its events go there. */
static bool capture_now(void)
{
	if (!find_cupti())
		return false;
	module_watch_poll(guest.modules, false);
	prepare_stacks();
	if (lifecycle_start(at_end) < 0 || start_flush_thread(false) < 0) {
		subscription_close();
		return false;
	}
	capture_window_open_first();
	flush_thread_wake();
	return true;
}

/* Captured when its time comes: until then it costs a thread that sleeps. */
static bool capture_later(void)
{
	capture_window_start();
	if (guest.window_options.range != WINDOW_RANGE_NONE) {
		module_watch_poll(guest.modules, false);
		prepare_stacks();
	}
	return lifecycle_start(at_end) == 0 && start_flush_thread(true) == 0;
}

static void start(const char *socket_path)
{
	uint16_t window; /* the guest numbers them itself */

	if (agent_handshake(socket_path, &guest.link, &guest.ring, &window) < 0) {
		nvtx_ranges_off();
		return;
	}
	guest.definitions = DEFINITION_WRITER_INIT(guest.ring);
	agent_watch_start(&guest.link, guest.ring, &guest.definitions);
	read_options();
	guest.tables = unwind_tables_create(UNWIND_BYTES_MAX);
	guest.modules = module_watch_create(&guest.definitions, guest.tables);
	if (guest.tables && guest.modules && prepare_launches()) {
		prepare_windows();
		if (capture_window_is_due() ? capture_now() : capture_later())
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
