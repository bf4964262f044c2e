#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node-agent/kernel/address_stack.h"
#include "node-agent/symbols/kernel_symbols.h"
#include "node-agent/guests/ring_source.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"

static const char kernel_text[] =
	"ffffffff81000000 t futex_wait\nffffffff81000100 t do_syscall_64\n";

struct fixture {
	struct ring_outputs outputs;
	struct kernel_symbols *kernel;
	struct address_stack *stacks;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->outputs.strings = string_dictionary_create();
	fixture->outputs.stacks = stack_dictionary_create();
	assert_int_equal(kernel_symbols_parse(kernel_text, strlen(kernel_text), &fixture->kernel),
			 0);
	fixture->stacks =
		address_stack_create(&fixture->outputs, fixture->kernel, NULL, getpid(), true);
	assert_non_null(fixture->stacks);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	address_stack_destroy(fixture->stacks);
	kernel_symbols_destroy(fixture->kernel);
	stack_dictionary_destroy(fixture->outputs.stacks);
	string_dictionary_destroy(fixture->outputs.strings);
	free(fixture);
	return 0;
}

static uint32_t find(struct fixture *fixture, const struct address_list *list)
{
	uint32_t node_id, lacks;

	assert_int_equal(address_stack_find(fixture->stacks, list, &node_id, &lacks), 0);
	return node_id;
}

/* The frame of a node, so many steps to its root. */
static const struct message_frame *frame_at(const struct fixture *fixture, uint32_t node_id,
					    uint32_t steps)
{
	const struct message_node *node = stack_dictionary_nodes(fixture->outputs.stacks, node_id);

	while (steps--)
		node = stack_dictionary_nodes(fixture->outputs.stacks, node->parent);
	return stack_dictionary_frames(fixture->outputs.stacks, node->frame);
}

static void check_code(const struct fixture *fixture, const struct message_frame *frame,
		       const char *name)
{
	assert_int_not_equal(frame->code, MESSAGE_FRAME_NATIVE);
	const struct message_code *code =
		stack_dictionary_codes(fixture->outputs.stacks, frame->code);
	const struct message_text *text =
		string_dictionary_texts(fixture->outputs.strings, code->name);

	assert_int_equal(code->file, STRING_NONE);
	assert_int_equal(text->size, strlen(name));
	assert_memory_equal(text->data, name, text->size);
}

static void the_kernels_frames_are_inside_the_programs(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t user[] = {(uint64_t)(uintptr_t)&set_up, (uint64_t)(uintptr_t)&tear_down + 1};
	const uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000110, 0xffffffff90000000};
	const struct address_list list = {
		.user = user, .kernel = kernel, .nr_user = 2, .nr_kernel = 3};
	uint32_t node_id = find(fixture, &list);

	check_code(fixture, frame_at(fixture, node_id, 0), "futex_wait_[k]");
	check_code(fixture, frame_at(fixture, node_id, 1), "do_syscall_64_[k]");
	check_code(fixture, frame_at(fixture, node_id, 2), "[kernel]");
	const struct message_frame *leaf = frame_at(fixture, node_id, 3);
	const struct message_frame *caller = frame_at(fixture, node_id, 4);
	assert_int_not_equal(leaf->module, MESSAGE_FRAME_NO_MODULE);
	assert_int_equal(leaf->module, caller->module);
	/* The leaf is where it stood, its caller where it made the call. */
	assert_int_equal(leaf->offset - caller->offset, user[0] - (user[1] - 1));
	assert_int_equal(find(fixture, &list), node_id);
}

static void where_the_users_part_ends_counts(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t addresses[] = {0x10, 0x20};
	const struct address_list one = {.user = addresses, .nr_user = 2},
				  other = {.kernel = addresses, .nr_kernel = 2},
				  none = {.code_pages = 1};

	assert_int_not_equal(find(fixture, &one), find(fixture, &other));
	assert_int_equal(find(fixture, &none), STACK_NODE_NONE);
}

static void what_is_mapped_anew_is_seen_in_the_next_pass(void **state)
{
	struct fixture *fixture = *state;
	char path[] = "/proc/self/exe";
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	FILE *file = fopen(path, "re");

	/* Some page of code of ours, a second time. */
	uint64_t code = (uint64_t)(uintptr_t)&set_up;
	char line[512];
	unsigned long long start, end, offset, at = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
		    start <= code && code < end)
			at = offset;
	fclose(maps);
	void *place = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t)(uintptr_t)place + 8;
	struct address_list list = {.user = &address, .nr_user = 1, .code_pages = 1};

	assert_int_equal(frame_at(fixture, find(fixture, &list), 0)->module,
			 MESSAGE_FRAME_NO_MODULE);
	assert_ptr_equal(mmap(place, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			      fileno(file), (off_t)at),
			 place);
	/* Within the pass it was read already; then, that the number of pages differs counts. */
	list.code_pages = 2;
	assert_int_equal(frame_at(fixture, find(fixture, &list), 0)->module,
			 MESSAGE_FRAME_NO_MODULE);
	address_stack_begin_pass(fixture->stacks);
	assert_int_not_equal(frame_at(fixture, find(fixture, &list), 0)->module,
			     MESSAGE_FRAME_NO_MODULE);
	/* And what is gone is gone. */
	munmap(place, size);
	list.code_pages = 3;
	address_stack_begin_pass(fixture->stacks);
	assert_int_equal(frame_at(fixture, find(fixture, &list), 0)->module,
			 MESSAGE_FRAME_NO_MODULE);
	fclose(file);
}

/* Each line of the maps that is looked at ends with one. */
static uint32_t nr_lines;

void *__real_memchr(const void *bytes, int c, size_t size);
void *__wrap_memchr(const void *bytes, int c, size_t size);
void *__wrap_memchr(const void *bytes, int c, size_t size)
{
	nr_lines += c == '\n';
	return __real_memchr(bytes, c, size);
}

/* Frame pointers that are none lead anywhere. */
static void addresses_in_no_mapping_are_looked_for_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t user[127];
	const struct address_list list = {.user = user, .nr_user = 127, .code_pages = 1};
	const uint64_t hole = 0x100000; /* lower than anything that is mapped without an address */

	for (uint32_t i = 0; i < 127; i++)
		user[i] = i % 2 ? hole + 0x1000 * i : 0xffff800000000000ull + i;
	find(fixture, &list);
	address_stack_begin_pass(fixture->stacks);
	nr_lines = 0;
	for (uint32_t i = 0; i < 127; i++)
		user[i] += 0x10;
	assert_int_not_equal(find(fixture, &list), STACK_NODE_NONE);
	assert_int_equal(nr_lines, 0);
}

static void many_stacks_are_each_found_again(void **state)
{
	struct fixture *fixture = *state;
	uint32_t *nodes = calloc(20000, sizeof(*nodes));

	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 20000; i++) {
			const uint64_t user[] = {0x1000 + i % 7, 0x2000 + i};
			const struct address_list list = {.user = user, .nr_user = 2};
			uint32_t node_id = find(fixture, &list);

			assert_true(round == 0 || nodes[i] == node_id);
			nodes[i] = node_id;
		}
	free(nodes);
}

static void too_deep_a_stack_is_none(void **state)
{
	struct fixture *fixture = *state;
	uint64_t user[ADDRESS_STACK_DEPTH_MAX + 1] = {0};
	struct address_list list = {.user = user, .nr_user = ADDRESS_STACK_DEPTH_MAX + 1};

	assert_int_equal(find(fixture, &list), STACK_NODE_NONE);
	list.nr_user = ADDRESS_STACK_DEPTH_MAX;
	assert_int_not_equal(find(fixture, &list), STACK_NODE_NONE);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_kernels_frames_are_inside_the_programs),
		TEST(where_the_users_part_ends_counts),
		TEST(what_is_mapped_anew_is_seen_in_the_next_pass),
		TEST(addresses_in_no_mapping_are_looked_for_once),
		TEST(many_stacks_are_each_found_again),
		TEST(too_deep_a_stack_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
