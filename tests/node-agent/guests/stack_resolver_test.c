#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/guests/ring_source.h"
#include "node-agent/guests/stack_resolver.h"
#include "proto/definition.h"
#include "proto/stack_word.h"

#define CUDA   (DEFINITION_MODULE_CUDA)
#define CUDART (DEFINITION_MODULE_CUDA | DEFINITION_MODULE_CUDART)

#define LAUNCH_KERNEL    307u /* cuLaunchKernel */
#define LAUNCH_KERNEL_EX 653u /* cuLaunchKernelEx_ptsz */

/* Where the modules lie, a page each. */
#define APP       0x1000u
#define LIBC      0x2000u
#define LIBCUDA   0x3000u
#define LIBCUDART 0x4000u
#define GUEST     0x5000u

static const struct record_ring_sizes sizes = {
	.launch_lanes = 1,
	.launch_lane_records = 64,
	.activity_records = 64,
	.definition_bytes = 2 * DEFINITION_SIZE_MAX,
	.stacks = 64,
	.stack_words = 2048,
	.codes = 16,
	.code_words = 256,
};

/* A process of an agent. */
struct process {
	struct record_ring *guest, *ring;
	int fd;
	struct module_table *modules;
	struct process_ledger *ledger;
	struct ring_outputs outputs;
	struct stack_resolver *resolver;
	uint64_t text_room;
};

static struct string_dictionary *strings;
static struct stack_dictionary *stacks;
static struct process one, two;

static void add_module(struct process *process, uint64_t start, uint32_t flags, const char *path)
{
	struct definition_module module = {
		.start = start, .end = start + 0x1000, .bias = start, .flags = flags};

	assert_int_equal(module_table_add(process->modules, &module, path, strlen(path)), 0);
}

static void open_process(struct process *process, uid_t user)
{
	assert_int_equal(record_ring_create(&sizes, &process->guest, &process->fd), 0);
	assert_int_equal(record_ring_map(process->fd, &process->ring), 0);
	process->ledger = process_ledger_create();
	process->outputs = (struct ring_outputs){
		.strings = strings, .stacks = stacks, .ledger = process->ledger};
	process->modules =
		module_table_create(ring_outputs_modules(&process->outputs), 0, user, false);
	process->text_room = 1000;
	process->resolver = stack_resolver_create(process->ring, &process->outputs,
						  process->modules, &process->text_room);
	assert_non_null(process->resolver);
	add_module(process, APP, DEFINITION_MODULE_MAIN, "/bin/app");
	add_module(process, LIBC, 0, "/lib/libc.so.6");
	add_module(process, LIBCUDA, CUDA, "/lib/libcuda.so.1");
	add_module(process, LIBCUDART, CUDART, "/lib/libcudart.so.13");
	add_module(process, GUEST, CUDA, "/lib/libflamegrid-inject.so");
}

static void close_process(struct process *process)
{
	stack_resolver_destroy(process->resolver);
	module_table_destroy(process->modules);
	process_ledger_destroy(process->ledger);
	record_ring_unmap(process->ring);
	record_ring_destroy(process->guest);
	close(process->fd);
}

static int set_up(void **state)
{
	(void)state;
	strings = string_dictionary_create();
	stacks = stack_dictionary_create();
	open_process(&one, getuid());
	open_process(&two, getuid());
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_process(&one);
	close_process(&two);
	stack_dictionary_destroy(stacks);
	string_dictionary_destroy(strings);
	return 0;
}

static uint64_t counted(struct process *process, enum ledger_reason reason)
{
	uint32_t nr;

	process_ledger_update(process->ledger, NULL, 0);
	const struct ledger_entry *entries = process_ledger_entries(process->ledger, &nr);
	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].reason == (uint32_t)reason)
			return entries[i].count;
	return 0;
}

static void print_text(FILE *out, uint32_t string_id)
{
	const struct message_text *text = string_dictionary_texts(strings, string_id);

	fprintf(out, "%.*s", (int)text->size, text->data);
}

static void print_frame(FILE *out, const struct message_frame *frame)
{
	if (frame->code == MESSAGE_FRAME_NATIVE && frame->module == MESSAGE_FRAME_NO_MODULE) {
		fprintf(out, "0x%x", (unsigned int)frame->offset);
	} else if (frame->code == MESSAGE_FRAME_NATIVE) {
		print_text(out, stack_dictionary_modules(stacks, frame->module)->path);
		fprintf(out, "+0x%x", (unsigned int)frame->offset);
	} else {
		const struct message_code *code = stack_dictionary_codes(stacks, frame->code);

		assert_int_equal(frame->module, MESSAGE_FRAME_NO_MODULE);
		if (code->file) {
			print_text(out, code->file);
			fputc(':', out);
		}
		print_text(out, code->name);
		if (code->file)
			fprintf(out, ":%u", (unsigned int)frame->offset);
		else
			assert_int_equal(frame->offset, 0);
	}
}

/* "leaf < … < root" */
static void assert_node(uint32_t node, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (const char *separator = ""; node != STACK_NODE_NONE; separator = " < ") {
		const struct message_node *entry = stack_dictionary_nodes(stacks, node);

		fputs(separator, out);
		print_frame(out, stack_dictionary_frames(stacks, entry->frame));
		node = entry->parent;
	}
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static uint32_t add(struct process *process, const uint64_t *words, uint32_t depth)
{
	uint32_t stack_id = record_ring_add_stack(process->guest, words, depth);

	assert_int_not_equal(stack_id, RECORD_STACK_NONE);
	return stack_id;
}

static uint32_t node_of(struct process *process, uint32_t stack_id, uint32_t cbid)
{
	uint32_t node;

	assert_int_equal(stack_resolver_node(process->resolver, stack_id, cbid, &node), 0);
	return node;
}

static uint32_t capture_of(struct process *process, uint32_t stack_id)
{
	uint32_t node = 1234567;

	assert_int_equal(stack_resolver_capture(process->resolver, stack_id, &node), 0);
	return node;
}

#define CAPTURE(process, ...)                                                                      \
	capture_of(process, add(process, (uint64_t[]){__VA_ARGS__},                                \
				sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))
#define RESOLVE(process, cbid, ...)                                                                \
	node_of(process,                                                                           \
		add(process, (uint64_t[]){__VA_ARGS__},                                            \
		    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)),                         \
		cbid)
#define MARK(mark) stack_word_mark(mark)

static uint32_t add_code(struct process *process, const char *file, const char *name)
{
	uint32_t id = record_ring_add_code(process->guest, file, (uint32_t)strlen(file), name,
					   (uint32_t)strlen(name));

	assert_int_not_equal(id, 0);
	return id;
}

/* --- how a stack ends ------------------------------------------------------------------------- */

static void the_runtimes_function_at_the_end_of_cudas_frames_stays(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, GUEST + 1, LIBCUDA + 9, LIBCUDART + 0x21,
			    LIBCUDART + 0x31, APP + 0x41, LIBC + 0x51),
		    "/lib/libcudart.so.13+0x30 < /bin/app+0x40 < /lib/libc.so.6+0x50");
}

static void a_driver_call_is_named_after_the_launchs_function(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL_EX, GUEST + 1, LIBCUDA + 9, APP + 0x41),
		    "cuLaunchKernelEx < /bin/app+0x40");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, LIBCUDA + 9, APP + 0x41),
		    "cuLaunchKernel < /bin/app+0x40");
	assert_node(RESOLVE(&one, 5, LIBCUDA + 9, APP + 0x41), "CUDA call < /bin/app+0x40");
}

static void frames_of_a_static_runtime_stay_outwards_of_the_drivers_function(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, APP + 0x901, APP + 0x41),
		    "cuLaunchKernel < /bin/app+0x900 < /bin/app+0x40");
}

static void a_stack_without_cudas_frames_ends_in_the_drivers_function(void **state)
{
	uint64_t python;

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, APP + 0x41), "cuLaunchKernel < /bin/app+0x40");
	python = stack_word_python(add_code(&one, "/srv/train.py", "step"), 12);
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, python), "cuLaunchKernel < /srv/train.py:step:12");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, MARK(STACK_MARK_MISSING), python),
		    "cuLaunchKernel < [frames missing] < /srv/train.py:step:12");
}

static void cudas_frames_alone_leave_the_drivers_function(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, GUEST + 1, LIBCUDA + 9), "cuLaunchKernel");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, LIBCUDART + 0x31),
		    "/lib/libcudart.so.13+0x30");
}

static void a_walk_that_ended_among_cudas_frames_keeps_its_mark(void **state)
{
	uint64_t python = stack_word_python(add_code(&one, "/srv/train.py", "step"), 12);

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, MARK(STACK_MARK_MISSING), python),
		    "cuLaunchKernel < [frames missing] < /srv/train.py:step:12");
	/* Which of libcudart's functions this is nobody knows: the walk did not come out of it. */
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, LIBCUDART + 0x31,
			    MARK(STACK_MARK_TRUNCATED)),
		    "cuLaunchKernel < [stack truncated]");
}

static void a_mark_that_ends_no_walk_leaves_the_runtimes_function(void **state)
{
	uint64_t python = stack_word_python(add_code(&one, "/srv/train.py", "step"), 12);

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, LIBCUDART + 0x31,
			    MARK(STACK_MARK_MISMATCH), python),
		    "/lib/libcudart.so.13+0x30 < [native and Python frames differ] < "
		    "/srv/train.py:step:12");
}

static void cudas_frames_further_out_stay(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 0x31, APP + 0x41, LIBCUDA + 0x51,
			    LIBCUDART + 0x61, APP + 0x71),
		    "/lib/libcudart.so.13+0x30 < /bin/app+0x40 < /lib/libcuda.so.1+0x50 < "
		    "/lib/libcudart.so.13+0x60 < /bin/app+0x70");
}

static void the_first_of_two_functions_names_the_stack(void **state)
{
	uint32_t stack_id = add(&one, (uint64_t[]){LIBCUDA + 9, APP + 0x41}, 2);

	(void)state;
	assert_node(node_of(&one, stack_id, LAUNCH_KERNEL), "cuLaunchKernel < /bin/app+0x40");
	assert_node(node_of(&one, stack_id, LAUNCH_KERNEL_EX), "cuLaunchKernel < /bin/app+0x40");
	/* The same words once more are another stack of the guest. */
	assert_node(RESOLVE(&one, LAUNCH_KERNEL_EX, LIBCUDA + 9, APP + 0x41),
		    "cuLaunchKernelEx < /bin/app+0x40");
}

static void the_deepest_stack_has_room_for_the_drivers_function(void **state)
{
	uint64_t words[RECORD_STACK_DEPTH];
	uint32_t depth = 0;

	(void)state;
	for (uint32_t i = 0; i < RECORD_STACK_DEPTH; i++)
		words[i] = APP + 1 + i;
	for (uint32_t node = node_of(&one, add(&one, words, RECORD_STACK_DEPTH), LAUNCH_KERNEL);
	     node; node = stack_dictionary_nodes(stacks, node)->parent)
		depth++;
	assert_int_equal(depth, RECORD_STACK_DEPTH + 1);
}

/* --- how the stack of a capture ends ----------------------------------------------------------- */

static void a_capture_keeps_the_runtimes_function_and_no_other_of_cudas(void **state)
{
	(void)state;
	assert_node(CAPTURE(&one, GUEST + 1, LIBCUDA + 9, LIBCUDART + 0x21, LIBCUDART + 0x31,
			    APP + 0x41, LIBC + 0x51),
		    "/lib/libcudart.so.13+0x30 < /bin/app+0x40 < /lib/libc.so.6+0x50");
	assert_node(CAPTURE(&one, GUEST + 1, LIBCUDA + 9, APP + 0x41, LIBC + 0x51),
		    "/bin/app+0x40 < /lib/libc.so.6+0x50");
	assert_node(CAPTURE(&one, LIBCUDART + 1, LIBCUDA + 9, APP + 0x61, LIBCUDA + 0x71),
		    "/bin/app+0x60 < /lib/libcuda.so.1+0x70");
	assert_node(CAPTURE(&one, APP + 0x41), "/bin/app+0x40");
	assert_node(CAPTURE(&one, LIBCUDA + 9, LIBCUDART + 0x31), "/lib/libcudart.so.13+0x30");
}

static void a_capture_whose_walk_ended_among_cudas_frames_keeps_its_mark(void **state)
{
	uint64_t python = stack_word_python(add_code(&one, "/srv/train.py", "step"), 12);

	(void)state;
	assert_node(CAPTURE(&one, LIBCUDA + 9, LIBCUDART + 0x31, MARK(STACK_MARK_MISSING), python),
		    "[frames missing] < /srv/train.py:step:12");
}

static void a_capture_of_cudas_frames_alone_is_none(void **state)
{
	(void)state;
	assert_int_equal(CAPTURE(&one, GUEST + 1, LIBCUDA + 9), STACK_NODE_NONE);
	assert_int_equal(capture_of(&one, RECORD_STACK_NONE), STACK_NODE_NONE);
	assert_int_equal(stack_dictionary_nr_nodes(stacks), 0);
}

static void a_stack_of_a_launch_and_of_a_capture_has_a_node_for_each(void **state)
{
	uint32_t stack_id = add(&one, (uint64_t[]){LIBCUDA + 9, APP + 0x41}, 2);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_node(node_of(&one, stack_id, LAUNCH_KERNEL),
			    "cuLaunchKernel < /bin/app+0x40");
		assert_node(capture_of(&one, stack_id), "/bin/app+0x40");
	}
	assert_int_equal(stack_dictionary_nr_nodes(stacks), 2);
}

static void a_capture_that_found_the_stack_table_full_says_so(void **state)
{
	uint32_t node = capture_of(&one, RECORD_STACK_FULL);

	(void)state;
	assert_node(node, "[stack table full]");
	assert_int_equal(node_of(&one, RECORD_STACK_FULL, LAUNCH_KERNEL), node);
}

/* --- Python frames and marks ------------------------------------------------------------------ */

static void frames_without_a_module_stay_plain_addresses(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, 0x70001), //
		    "/lib/libcudart.so.13+0x0 < 0x70000");
}

static void guests_that_number_codes_differently_share_frames(void **state)
{
	uint32_t first, second;

	(void)state;
	add_code(&two, "other.py", "f");
	first = add_code(&one, "/srv/train.py", "Model.forward");
	second = add_code(&two, "/srv/train.py", "Model.forward");
	assert_int_not_equal(first, second);
	assert_int_equal(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(first, 7)),
			 RESOLVE(&two, LAUNCH_KERNEL, stack_word_python(second, 7)));
	assert_int_not_equal(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(first, 7)),
			     RESOLVE(&two, LAUNCH_KERNEL, stack_word_python(second, 8)));
}

/* Returns the module of the generated file whose line launched a kernel. */
static uint32_t module_of_line(struct process *process)
{
	static const char path[] = "/tmp/torchinductor_root/ab/"
				   "cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs.py";
	uint64_t line = stack_word_python(add_code(process, path, "call"), 7);
	uint32_t launch = RESOLVE(process, LAUNCH_KERNEL, line);
	uint32_t parent = stack_dictionary_nodes(stacks, launch)->parent;
	uint32_t frame = stack_dictionary_nodes(stacks, parent)->frame;

	return stack_dictionary_generated(stacks, stack_dictionary_frames(stacks, frame)->code);
}

static void lines_of_a_generated_file_are_of_its_user(void **state)
{
	struct process other;

	(void)state;
	open_process(&other, getuid() + 1);
	uint32_t first = module_of_line(&one), others = module_of_line(&other);
	assert_int_equal(stack_dictionary_modules(stacks, first)->owner, getuid());
	assert_int_equal(stack_dictionary_modules(stacks, others)->owner, getuid() + 1);
	assert_int_equal(module_of_line(&two), first);
	assert_int_equal(module_of_line(&one), first);
	close_process(&other);
}

static void a_code_without_names_is_called_unknown(void **state)
{
	(void)state;
	uint64_t empty = stack_word_python(add_code(&one, "", ""), 0);
	uint64_t nul = stack_word_python(record_ring_add_code(one.guest, "\0x", 2, "f\0g", 3), 1);

	assert_node(RESOLVE(&one, LAUNCH_KERNEL, empty), //
		    "cuLaunchKernel < <unknown>:<unknown>:0");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, nul), "cuLaunchKernel < <unknown>:f:1");
}

static void marks_are_shown_by_their_words(void **state)
{
	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, MARK(STACK_MARK_SUBINTERPRETER),
			    MARK(STACK_MARK_CODE_TABLE_FULL)),
		    "/lib/libcudart.so.13+0x0 < [subinterpreter] < [Python code table full]");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, APP + 1, STACK_WORD_OTHER | STACK_WORD_MARK | 999),
		    "cuLaunchKernel < /bin/app+0x0 < [frames missing]");
}

static void a_code_that_nobody_added_is_a_mark_and_counts_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(9, 1)),
			    "cuLaunchKernel < [frames missing]");
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 1);
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(UINT32_MAX, 1)),
		    "cuLaunchKernel < [frames missing]");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(0, 1)),
		    "cuLaunchKernel < [frames missing]");
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 3);
}

static void names_beyond_the_room_for_text_are_a_mark_and_counted(void **state)
{
	uint64_t first = stack_word_python(add_code(&one, "a.py", "f"), 1);
	uint64_t second = stack_word_python(add_code(&one, "b.py", "ff"), 2);

	(void)state;
	one.text_room = 10 + 2 * RING_OUTPUTS_NAME_COST;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, first, second),
		    "cuLaunchKernel < a.py:f:1 < [Python code table full]");
	assert_int_equal(one.text_room, 5);
	assert_int_equal(counted(&one, LEDGER_CODE_TABLE_FULL), 1);
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 0);
}

static void ranges_are_shown_with_their_domain(void **state)
{
	uint64_t plain = stack_word_range(add_code(&one, "", "forward"));
	uint64_t domain = stack_word_range(add_code(&one, "library", "op"));

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, APP + 1, domain, plain),
		    "/lib/libcudart.so.13+0x0 < /bin/app+0x0 < [NVTX]library:op < [NVTX]forward");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_range(0)),
		    "cuLaunchKernel < [NVTX]...");
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 0);
}

static void a_code_may_be_a_range_and_a_python_function(void **state)
{
	uint32_t code = add_code(&one, "a.py", "f");

	(void)state;
	assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(code, 3), stack_word_range(code)),
		"cuLaunchKernel < a.py:f:3 < [NVTX]a.py:f");
}

static void a_range_that_nobody_added_has_no_name_and_counts_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_range(9)),
			    "cuLaunchKernel < [NVTX]...");
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 1);
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_range(UINT32_MAX)),
		    "cuLaunchKernel < [NVTX]...");
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 2);
}

static void ranges_beyond_the_room_for_text_have_no_name_and_are_counted(void **state)
{
	uint64_t first = stack_word_range(add_code(&one, "", "ab"));
	uint64_t second = stack_word_range(add_code(&one, "", "longer"));

	(void)state;
	one.text_room = 10 + RING_OUTPUTS_NAME_COST;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, first, second),
		    "cuLaunchKernel < [NVTX]ab < [NVTX]...");
	assert_int_equal(counted(&one, LEDGER_NVTX_NAME_LOST), 1);
}

static void an_origin_stands_between_its_forward_stack_and_the_stack(void **state)
{
	uint32_t name = add_code(&one, "", "AddmmBackward0");
	uint64_t line = stack_word_python(add_code(&one, "a.py", "f"), 3);
	uint32_t forward = add(&one, (uint64_t[]){LIBCUDART + 1, APP + 0x11, line}, 3);
	uint32_t second =
		add(&one, (uint64_t[]){APP + 0x21, stack_word_origin(name, forward, false)}, 2);

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, APP + 1, stack_word_origin(name, forward, true)),
		    "cuLaunchKernel < /bin/app+0x0 < [backward] AddmmBackward0 ≈ < /bin/app+0x10 < "
		    "a.py:f:3");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, RECORD_STACK_NONE, false)),
		    "cuLaunchKernel < [backward]");
	/* a derivative of a derivative: the line that the first one has */
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, second, false)),
		    "cuLaunchKernel < [backward] < /bin/app+0x10 < a.py:f:3");
}

/* A pass that the thread of the call evaluates, and an operation that a checkpoint computes again. */
static void frames_of_the_call_of_backward_are_no_operations_own(void **state)
{
	uint32_t name = add_code(&one, "", "MulBackward0");
	uint64_t line = stack_word_python(add_code(&one, "a.py", "f"), 3);
	uint64_t call = stack_word_python(add_code(&one, "/x/torch/autograd/graph.py", "grad"), 5);
	uint64_t again = stack_word_python(add_code(&one, "torch/autograd/x.py", "again"), 7);
	uint64_t origin = stack_word_origin(name, add(&one, (uint64_t[]){APP + 1, line}, 2), false);
	uint32_t derivative = add(&one, (uint64_t[]){APP + 0x11, call, line, origin}, 4);
	uint32_t recomputed = add(&one, (uint64_t[]){APP + 0x21, again, call, line, origin}, 5);

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, derivative, false)),
		    "cuLaunchKernel < [backward] < /bin/app+0x0 < a.py:f:3");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, recomputed, false)),
		    "cuLaunchKernel < [backward] < /bin/app+0x20 < torch/autograd/x.py:again:7 < "
		    "/x/torch/autograd/graph.py:grad:5 < a.py:f:3");
}

/* A reentrant checkpoint computes the operation again on the engine's thread. */
static void what_a_checkpoint_computes_again_stands_under_its_call(void **state)
{
	uint32_t name = add_code(&one, "", "AddmmBackward0");
	uint64_t line = stack_word_python(add_code(&one, "a.py", "f"), 3);
	uint64_t apply = stack_word_python(
		add_code(&one, "/x/torch/autograd/function.py", "Function.apply"), 5);
	uint64_t inner = stack_word_python(add_code(&one, "b.py", "g"), 7);
	uint64_t back = stack_word_python(add_code(&one, "/x/c.py", "backward"), 9);
	uint32_t call = add(&one, (uint64_t[]){APP + 1, inner, apply, line}, 4);
	uint32_t again =
		add(&one,
		    (uint64_t[]){APP + 0x11, inner, back, stack_word_origin(name, call, false)}, 4);

	(void)state;
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, again, false)),
		    "cuLaunchKernel < [backward] < /bin/app+0x10 < b.py:g:7 < /x/c.py:backward:9 < "
		    "a.py:f:3");
}

static void an_origin_that_no_guest_writes_is_counted(void **state)
{
	uint32_t self = add(&one, (uint64_t[]){APP + 1, stack_word_origin(0, 1, false)}, 2);

	(void)state;
	assert_int_equal(self, 1); /* an origin that leads to itself ends */
	assert_node(node_of(&one, self, LAUNCH_KERNEL),
		    "cuLaunchKernel < /bin/app+0x0 < [backward] < /bin/app+0x0");
	assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, 60, false)),
		    "cuLaunchKernel < [backward]");
	assert_int_equal(counted(&one, LEDGER_UNTRUSTED_RING), 1);
}

static void a_full_stack_table_is_one_mark(void **state)
{
	uint32_t node = node_of(&one, RECORD_STACK_FULL, LAUNCH_KERNEL);

	(void)state;
	assert_node(node, "[stack table full]");
	assert_int_equal(node_of(&one, RECORD_STACK_FULL, LAUNCH_KERNEL_EX), node);
	assert_int_equal(node_of(&two, RECORD_STACK_FULL, LAUNCH_KERNEL), node);
}

static void no_stack_is_the_drivers_function_alone(void **state)
{
	(void)state;
	uint32_t launch = node_of(&one, RECORD_STACK_NONE, LAUNCH_KERNEL);

	assert_node(launch, "cuLaunchKernel");
	assert_int_equal(node_of(&one, RECORD_STACK_NONE, LAUNCH_KERNEL), launch);
	assert_node(node_of(&one, RECORD_STACK_NONE, 279), "cuMemcpyDtoHAsync");
}

static void a_stack_that_nobody_added_is_none(void **state)
{
	(void)state;
	assert_int_equal(node_of(&one, 3, LAUNCH_KERNEL), STACK_NODE_NONE);
	assert_int_equal(node_of(&one, RECORD_STACKS_MAX, LAUNCH_KERNEL), STACK_NODE_NONE);
	assert_int_equal(node_of(&one, RECORD_STACKS_MAX + 1, LAUNCH_KERNEL), STACK_NODE_NONE);
	assert_int_equal(node_of(&one, RECORD_STACKS_MAX + 1, LAUNCH_KERNEL), STACK_NODE_NONE);
	assert_int_equal(capture_of(&one, 3), STACK_NODE_NONE);
	assert_int_equal(capture_of(&one, RECORD_STACKS_MAX), STACK_NODE_NONE);
	assert_int_equal(capture_of(&one, RECORD_STACKS_MAX + 1), STACK_NODE_NONE);
	assert_int_equal(capture_of(&one, RECORD_STACKS_MAX + 1), STACK_NODE_NONE);
	assert_int_equal(stack_dictionary_nr_nodes(stacks), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_runtimes_function_at_the_end_of_cudas_frames_stays),
		TEST(a_driver_call_is_named_after_the_launchs_function),
		TEST(frames_of_a_static_runtime_stay_outwards_of_the_drivers_function),
		TEST(a_stack_without_cudas_frames_ends_in_the_drivers_function),
		TEST(cudas_frames_alone_leave_the_drivers_function),
		TEST(a_walk_that_ended_among_cudas_frames_keeps_its_mark),
		TEST(a_mark_that_ends_no_walk_leaves_the_runtimes_function),
		TEST(cudas_frames_further_out_stay),
		TEST(the_first_of_two_functions_names_the_stack),
		TEST(the_deepest_stack_has_room_for_the_drivers_function),
		TEST(a_capture_keeps_the_runtimes_function_and_no_other_of_cudas),
		TEST(a_capture_whose_walk_ended_among_cudas_frames_keeps_its_mark),
		TEST(a_capture_of_cudas_frames_alone_is_none),
		TEST(a_stack_of_a_launch_and_of_a_capture_has_a_node_for_each),
		TEST(a_capture_that_found_the_stack_table_full_says_so),
		TEST(frames_without_a_module_stay_plain_addresses),
		TEST(guests_that_number_codes_differently_share_frames),
		TEST(lines_of_a_generated_file_are_of_its_user),
		TEST(a_code_without_names_is_called_unknown),
		TEST(marks_are_shown_by_their_words),
		TEST(a_code_that_nobody_added_is_a_mark_and_counts_once),
		TEST(names_beyond_the_room_for_text_are_a_mark_and_counted),
		TEST(ranges_are_shown_with_their_domain),
		TEST(a_code_may_be_a_range_and_a_python_function),
		TEST(a_range_that_nobody_added_has_no_name_and_counts_once),
		TEST(ranges_beyond_the_room_for_text_have_no_name_and_are_counted),
		TEST(an_origin_stands_between_its_forward_stack_and_the_stack),
		TEST(frames_of_the_call_of_backward_are_no_operations_own),
		TEST(what_a_checkpoint_computes_again_stands_under_its_call),
		TEST(an_origin_that_no_guest_writes_is_counted),
		TEST(a_full_stack_table_is_one_mark),
		TEST(no_stack_is_the_drivers_function_alone),
		TEST(a_stack_that_nobody_added_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
