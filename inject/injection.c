#include "injection.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "agent_handshake.h"
#include "agent_watch.h"
#include "callback_dispatch.h"
#include "dormant.h"
#include "guest_options.h"
#include "helper_thread.h"
#include "module_watch.h"
#include "window_watch.h"

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/base/memory_limits.h"
#include "inject/base/stack_table.h"
#include "inject/beside/shared_session.h"
#include "inject/beside/shared_subscriber.h"
#include "inject/capture/activity_buffers.h"
#include "inject/capture/cupti_choice.h"
#include "inject/capture/guest_sizes.h"
#include "inject/capture/subscription.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/launch/api_statistics.h"
#include "inject/launch/autograd_origin.h"
#include "inject/launch/kernel_context.h"
#include "inject/launch/launch_meter.h"
#include "inject/launch/launch_thread.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/nccl/nccl_profiler.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "inject/window/capture_window.h"
#include "inject/window/profiler_range.h"
#include "inject/window/window_callback.h"
#include "proto/absence.h"
#include "proto/handshake.h"
#include "proto/options/record_options.h"
#include "proto/ring/record_ring.h"
#include "python/python_frames.h"
#include "unwind/table_arena.h"
#include "unwind/unwind_table.h"

#define STACK_BYTES    (8u << 20) /* stack of a thread, if no limit sets its size */
#define CUPTI_BYTES    (1u << 20) /* for CUPTI besides its thread, at least */
#define FIRST_BUILD_NS 120000000u /* CPU time of the thread that starts CUDA */

/* The state of the guest, for the life of the process. */
static struct {
	struct record_ring *ring;
	struct definition_writer definitions;
	struct unwind_tables *tables;
	struct python_frames *python;
	struct autograd_origin *autograd; /* NULL: Python's frames are not wanted */
	struct kernel_contexts *contexts; /* NULL: stacks are not wanted */
	struct graph_nodes *nodes;
	struct nvtx_names *ranges;
	struct guest_options options;
	struct module_watch *modules;
	struct stack_table *stacks;
	struct cupti_library library;
	struct agent_link link;
	struct memory_limits limits;
	struct guest_sizes sizes;
} guest;

static void on_context_created(void)
{
	lifecycle_context_created();
	helper_thread_context_created();
}

static const struct callback_dispatch_events events = {
	.init_finished = helper_thread_init_finished,
	.context_created = on_context_created,
	.failed = helper_thread_cupti_failed,
};

/* Waits for the helper thread to say goodbye. If that takes too long, the process ends without it. */
static void at_end(void)
{
	helper_thread_stop();
	lifecycle_off();
}

/* Ends a guest without CUPTI, which has nothing to flush. */
static void at_end_idle(void)
{
	lifecycle_off();
	record_ring_finish(guest.ring);
}

/* Returns whether CUPTI was found and subscribed to. A notice says which it is, or why there is none. */
static bool find_cupti(void)
{
	const char *path =
		cupti_choice_make(&guest.library, callback_dispatch_receive, &guest.definitions);

	if (!path)
		return false;
	api_statistics_init(guest.ring, &guest.library, guest.options.api, guest.options.record,
			    &guest.definitions);
	definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FOUND,
				 (int32_t)guest.library.version, "CUPTI %u: %s",
				 guest.library.version, path);
	return true;
}

/* Writes a notice that memory is lacking. The ring stays, because its notice explains the empty profile. */
static bool lacks_memory(const char *what)
{
	char reason[GUEST_SIZES_TEXT_MAX];

	guest_sizes_lack(&guest.limits, reason);
	definition_writer_notice(&guest.definitions, NOTICE_CUPTI_FAILED, -ENOMEM,
				 ABSENCE_FAILED "not enough memory for %s: %s", what, reason);
	return false;
}

/* Names the limit that launches may be lost for. */
static void say_sizes(void)
{
	char reason[GUEST_SIZES_TEXT_MAX];

	if (!guest_sizes_are_tight(&guest.sizes))
		return;
	guest_sizes_text(&guest.sizes, &guest.limits, reason);
	definition_writer_notice(&guest.definitions, NOTICE_TIGHT_SIZES, 0,
				 "bursts of launches may be lost: the guest takes %s", reason);
}

/* Returns whether CUPTI can start its thread. CUPTI delivers records from a thread of its own. If there is no room for
 * that thread, CUPTI reports nothing, and no record comes. */
static bool has_room_for_cupti(void)
{
	size_t bytes = STACK_BYTES + CUPTI_BYTES;
	char what[GUEST_SIZES_TEXT_MAX];
	struct rlimit stack;

	if (guest.limits.address_space == MEMORY_LIMIT_NONE)
		return true;
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
		bytes = stack.rlim_cur + CUPTI_BYTES;
	void *room =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room != MAP_FAILED)
		return munmap(room, bytes) == 0;
	snprintf(what, sizeof(what), "CUPTI and its thread, which take %zu KiB or more",
		 bytes >> 10);
	return lacks_memory(what);
}

static bool wants_native(void)
{
	return guest.options.stacks.mode != STACK_MODE_NONE &&
	       guest.options.stacks.mode != STACK_MODE_PYTHON;
}

static bool wants_python(void)
{
	return guest.options.stacks.mode != STACK_MODE_NONE &&
	       guest.options.stacks.mode != STACK_MODE_NATIVE;
}

static void mark_ranges(void)
{
	callback_dispatch_mark(RECORD_MARK_RANGES, 0);
}

/* A window that begins later may begin while a stream is captured, and nobody would know. Without memory, too, the rest
 * goes on. */
static void prepare_metrics(void)
{
	char windows[WINDOW_OPTIONS_SIZE];
	const bool sampled = guest.options.record & RECORD_OPTION_STALLS;
	const char *what = guest.options.metrics.are_ranges ? "ranges" : "kernels";

	if (!(guest.options.record & RECORD_OPTION_METRICS))
		return;
	window_options_format(&guest.options.window, windows);
	if (*windows || sampled) {
		guest.options.record &= ~(uint32_t)RECORD_OPTION_METRICS;
		definition_writer_notice(&guest.definitions, NOTICE_NO_KERNEL_METRICS, 0,
					 "%s are not measured: the run %s", what,
					 sampled ? "samples kernels" : "has capture windows");
		return;
	}
	if (kernel_metrics_init(&guest.library, &guest.definitions, &guest.options.metrics,
				helper_thread_flush_soon) == 0)
		return;
	guest.options.record &= ~(uint32_t)RECORD_OPTION_METRICS;
	definition_writer_notice(&guest.definitions, NOTICE_NO_KERNEL_METRICS, -ENOMEM,
				 "%s are not measured: not enough memory", what);
}

static bool prepare_launches(void)
{
	prepare_metrics();
	launch_meter_init(guest.options.meter_full ? 1 : LAUNCH_METER_PERIOD);
	guest.stacks = stack_table_create(guest.ring);
	guest.python = python_frames_create(guest.ring);
	if (wants_python())
		guest.autograd = autograd_origin_create(guest.ring);
	if (guest.options.stacks.mode != STACK_MODE_NONE)
		guest.contexts = kernel_contexts_create(guest.ring);
	if (guest.options.record & RECORD_OPTION_NVTX)
		guest.ranges = nvtx_ranges_on(guest.options.digits);
	if (guest.options.record & RECORD_OPTION_MARKS)
		nvtx_ranges_tell(mark_ranges);
	if (guest.options.graphs == GRAPH_MODE_NODES)
		guest.nodes = graph_nodes_create();
	if (guest.stacks && guest.python && (guest.autograd || !wants_python()) &&
	    (guest.contexts || guest.options.stacks.mode == STACK_MODE_NONE) &&
	    launch_thread_init(guest.sizes.ring.launch_lanes) == 0 &&
	    activity_buffers_init(guest.ring, &guest.definitions, &guest.library, guest.nodes, 1,
				  &guest.sizes) == 0) {
		module_watch_tell(guest.modules, guest.stacks);
		return has_room_for_cupti();
	}
	return lacks_memory("call stacks and activity buffers");
}

/* Prepares stacks as far as that takes little time. A small program may finish its launches before a helper thread has
 * begun. Large processes have most of the work left to the helper, while CUDA starts. */
static void prepare_stacks(void)
{
	if (wants_python()) {
		python_frames_find(guest.python);
		autograd_origin_find(guest.autograd);
	}
	if (guest.contexts)
		kernel_contexts_find(guest.contexts);
	if (wants_native())
		unwind_tables_build(guest.tables, FIRST_BUILD_NS);
}

static void prepare_callbacks(void)
{
	const struct callback_dispatch_parts parts = {
		.library = &guest.library,
		.events = &events,
		.launch = {.ring = guest.ring,
			   .capture = {.ring = guest.ring,
				       .stacks = guest.stacks,
				       .tables = guest.tables,
				       .python = guest.python,
				       .options = guest.options.stacks,
				       .ranges = guest.ranges,
				       .autograd = guest.autograd,
				       .contexts = guest.contexts},
			   .nodes = guest.nodes},
		.record = guest.options.record,
	};

	callback_dispatch_init(&parts);
	window_callback_init(guest.options.record);
	if (guest.options.window.range == WINDOW_RANGE_PROFILER)
		profiler_range_on(guest.options.window.every);
}

/* Lower modules call the window and the helper thread through these functions. */
static void hand_in(void)
{
	const struct shared_session_parts session = {
		.lend = window_watch_lend,
		.flush_soon = helper_thread_flush_soon,
	};
	const struct shared_subscriber_parts subscriber = {
		.yield = capture_window_yield,
		.fetch = capture_window_fetch,
		.yielded = capture_window_yielded,
	};

	shared_session_init(&session);
	shared_subscriber_init(&subscriber);
	activity_buffers_on_crowd(helper_thread_flush_soon);
}

static void prepare_windows(void)
{
	const struct capture_window_parts parts = {
		.ring = guest.ring,
		.definitions = &guest.definitions,
		.library = &guest.library,
		.find_cupti = find_cupti,
		.prepare = helper_thread_prepare,
		.wake = helper_thread_wake,
		.receive = callback_dispatch_receive,
		.set_window = callback_dispatch_set_window,
		.nodes = guest.nodes,
		.options = guest.options.window,
		.graphs = guest.options.graphs,
		.record = guest.options.record,
	};

	capture_window_init(&parts);
	hand_in();
}

/* Returns whether a call of the program opens the window. The program then launches at once. */
static bool opens_suddenly(void)
{
	return guest.options.window.range == WINDOW_RANGE_PROFILER ||
	       guest.options.window.range == WINDOW_RANGE_NVTX;
}

static int start_helper_thread(bool late)
{
	const struct helper_thread_parts parts = {
		.ring = guest.ring,
		.definitions = &guest.definitions,
		.modules = guest.modules,
		.tables = guest.tables,
		.python = guest.python,
		.autograd = guest.autograd,
		.contexts = guest.contexts,
		.library = &guest.library,
		.native_stacks = wants_native(),
		.late = late,
		.soon = opens_suddenly(),
		.record = guest.options.record,
		.sample_rate = guest.options.sample_rate,
		.max_cost =
			guest.options.stacks.mode == STACK_MODE_NONE ? 0 : guest.options.max_cost,
	};

	return helper_thread_start(&parts);
}

/* Captures from the first call on. The helper thread starts before CUPTI is switched on, because CUPTI's events go
 * there. */
static bool capture_now(void)
{
	if (!find_cupti())
		return false;
	module_watch_poll(guest.modules, false);
	prepare_stacks();
	if (lifecycle_start(at_end) < 0 || start_helper_thread(false) < 0) {
		subscription_close();
		return lacks_memory("the guest's thread");
	}
	capture_window_open_first();
	helper_thread_wake();
	return true;
}

/* Captures when the window's time comes. Until then the only cost is a thread that sleeps. */
static bool capture_later(void)
{
	capture_window_start();
	if (opens_suddenly()) {
		module_watch_poll(guest.modules, false);
		prepare_stacks();
	}
	return (lifecycle_start(at_end) == 0 && start_helper_thread(true) == 0) ||
	       lacks_memory("the guest's thread");
}

static void start_collectives(void)
{
	const struct nccl_profiler_parts parts = {
		.ring = guest.ring,
		.definitions = &guest.definitions,
		.is_recording = capture_window_is_open,
	};

	if (guest.options.collectives)
		nccl_profiler_start(&parts);
}

/* Returns whether there is an agent. That agent then knows how the start went. */
static bool start(const char *socket_path)
{
	uint16_t window; /* the guest numbers them itself */

	memory_limits_read("", &guest.limits);
	guest_sizes_make(&guest.limits, &guest.sizes);
	if (guest.sizes.needed) {
		agent_handshake_refuse(socket_path,
				       guest.sizes.limit == GUEST_SIZES_FILE ? -EFBIG : -ENOMEM,
				       guest.sizes.needed);
		return false;
	}
	if (agent_handshake(socket_path, &guest.sizes.ring, &guest.link, &guest.ring, &window) < 0)
		return false;
	guest.definitions = DEFINITION_WRITER_INIT(guest.ring);
	agent_watch_start(&guest.link, guest.ring, &guest.definitions);
	guest_options_read(&guest.options, &guest.definitions);
	say_sizes();
	guest.tables = unwind_tables_create(guest.sizes.table_bytes);
	/* Shared tables are mapped in addition to those that the sizes allow for. */
	if (guest.tables && guest.link.tables_fd >= 0 &&
	    guest_sizes_leave(&guest.sizes, &guest.limits, TABLE_ARENA_BYTES))
		unwind_tables_share(guest.tables, guest.link.tables_fd);
	agent_handshake_close_tables(&guest.link);
	guest.modules = module_watch_create(&guest.definitions, guest.tables);
	if (!guest.tables || !guest.modules) {
		lacks_memory("unwind tables");
	} else if (prepare_launches()) {
		prepare_callbacks();
		prepare_windows();
		start_collectives();
		/* After an attach, CUDA has long been in use. So even a window that is due at once counts as late. */
		if (!guest.options.window.dormant && capture_window_is_due() ? capture_now()
									     : capture_later())
			return true;
	}
	nvtx_ranges_off();
	/* The ring stays: its notices say why the profile is empty. */
	if (lifecycle_start(at_end_idle) == 0)
		lifecycle_off();
	return true;
}

static bool attach(const char *socket_path, const char *options_path)
{
	guest_options_use_file(options_path);
	activity_buffers_wait_for_agent_only();
	return start(socket_path);
}

int InitializeInjection(void)
{
	static atomic_flag called = ATOMIC_FLAG_INIT;
	int saved_errno = errno;
	const char *socket_path = getenv(HANDSHAKE_SOCKET_ENV);
	bool wanted = socket_path && *socket_path, dormant = guest_options_want_dormant();

	/* A program that runs with more rights than its caller must not connect to a socket that its caller names. */
	if (!getauxval(AT_SECURE) && (wanted || dormant) && !atomic_flag_test_and_set(&called) &&
	    !(wanted && start(socket_path))) {
		/* Ranges that were opened before a user attaches are not remembered. Without a socket none are. */
		if (wanted || !dormant)
			nvtx_ranges_off();
		if (dormant && guest_options_may_want_collectives())
			nccl_profiler_expect();
		if (dormant)
			dormant_start(attach);
	}
	errno = saved_errno;
	return 1;
}
