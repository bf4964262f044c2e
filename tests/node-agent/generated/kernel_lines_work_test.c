/* The work for a file grows with the size of its texts, whatever a user writes into them. It is counted in bytes that
 * are looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/generated/kernel_lines.h"
#include "node-agent/generated/text_span.h"
#include "tests/support/cmocka_test.h"

#define COUNT      2000u
#define WORK_MAX   100u /* times that each byte may be looked at, on average */
#define DEFINITION "k = async_compile.triton('k', '''\n'''\n"
#define NODE       "# File: /m.py:5 in f, code: x\na: \"\" = torch.ops.aten.add.Tensor(x)\n"

static uint64_t nr_bytes;

bool __real_text_span_line(struct text_span *rest, struct text_span *line);
bool __wrap_text_span_line(struct text_span *rest, struct text_span *line);
uint32_t __real_hash_index_hash(const void *data, size_t size);
uint32_t __wrap_hash_index_hash(const void *data, size_t size);

bool __wrap_text_span_line(struct text_span *rest, struct text_span *line)
{
	bool found = __real_text_span_line(rest, line);

	nr_bytes += found ? line->size + 1 : 0;
	return found;
}

uint32_t __wrap_hash_index_hash(const void *data, size_t size)
{
	nr_bytes += size;
	return __real_hash_index_hash(data, size);
}

#define WRAP(name)                                                                                 \
	struct text_span __real_##name(struct text_span text, const char *part, bool *found);      \
	struct text_span __wrap_##name(struct text_span text, const char *part, bool *found);      \
	struct text_span __wrap_##name(struct text_span text, const char *part, bool *found)       \
	{                                                                                          \
		nr_bytes += text.size;                                                             \
		return __real_##name(text, part, found);                                           \
	}

WRAP(text_span_before)
WRAP(text_span_behind)
WRAP(text_span_before_last)
WRAP(text_span_behind_last)

/* A growing text; the tests' texts are all smaller. */
struct text {
	char data[1 << 20];
	size_t size;
};

static void add(struct text *text, uint32_t count, const char *part)
{
	size_t size = strlen(part);

	for (uint32_t i = 0; i < count; i++) {
		assert_true(text->size + size < sizeof(text->data));
		memcpy(text->data + text->size, part, size);
		text->size += size;
	}
}

static struct text code, traces;

static int set_up(void **state)
{
	(void)state;
	code.size = traces.size = 0;
	nr_bytes = 0;
	return 0;
}

static void assert_little_work(uint32_t nr_lines)
{
	const size_t size = code.size + traces.size + strlen(NODE);
	struct kernel_lines *lines = kernel_lines_create(
		(struct text_span){code.data, code.size}, (struct text_span){NODE, strlen(NODE)},
		(struct text_span){traces.data, traces.size});

	assert_non_null(lines);
	assert_int_equal(kernel_lines_count(lines), nr_lines);
	assert_true(nr_bytes <= size * WORK_MAX);
	kernel_lines_destroy(lines);
}

static void comment_of_a_kernel_is_read_once_for_all_calls(void **state)
{
	(void)state;
	add(&code, 1, "# Graph fragment:\n");
	add(&code, COUNT, "#   %a : [num_users=1] = call_function[target=add](x)\n");
	add(&code, 1, "# Original path: /own.py:1\n" DEFINITION);
	add(&code, COUNT, "k.run(1)\n");
	assert_little_work(COUNT);
}

static void place_of_a_kernel_is_read_once_for_all_calls(void **state)
{
	(void)state;
	add(&code, 1, "# Graph fragment:\n#   %a : [num_users=1] = call_function[target=add](x)\n");
	add(&code, 1, "# Original path: /");
	add(&code, COUNT, "a long path that has no line");
	add(&code, 1, "\n" DEFINITION);
	add(&code, COUNT, "k.run(1)\n");
	assert_little_work(COUNT);
}

static void traces_of_a_handle_are_read_once_for_all_calls(void **state)
{
	(void)state;
	add(&traces, 1, "{\"extern_kernels.mm:1\": [\"");
	add(&traces, COUNT, "  File \\\"/home/u/model.py\\\", line 57, in forward\\n    x\\n");
	add(&traces, 1, "\"]}");
	add(&code, COUNT,
	    "# [Provenance debug handles] extern_kernels.mm:1\nextern_kernels.mm(a)\n");
	assert_little_work(COUNT);
}

static void handle_is_cut_once_for_all_lines_below_it(void **state)
{
	(void)state;
	add(&code, 1, "# [Provenance debug handles] ");
	add(&code, COUNT, "a long handle without a number");
	add(&code, 1, "\n");
	add(&code, COUNT, "other(1)\n");
	assert_little_work(0);
}

static void long_name_of_many_nodes_is_left_out(void **state)
{
	(void)state;
	add(&code, 1, "# Source node to ATen node mapping:\n#   ");
	add(&code, COUNT, "long_name");
	add(&code, 1, " => a");
	add(&code, COUNT, ", a");
	add(&code, 1, "\n" DEFINITION);
	assert_little_work(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(comment_of_a_kernel_is_read_once_for_all_calls, set_up),
		cmocka_unit_test_setup(place_of_a_kernel_is_read_once_for_all_calls, set_up),
		cmocka_unit_test_setup(traces_of_a_handle_are_read_once_for_all_calls, set_up),
		cmocka_unit_test_setup(handle_is_cut_once_for_all_lines_below_it, set_up),
		cmocka_unit_test_setup(long_name_of_many_nodes_is_left_out, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
