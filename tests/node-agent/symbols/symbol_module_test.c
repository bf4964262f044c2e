#include "node-agent/symbols/symbol_module.h"

#include "node-agent/generated/generated_file.h"
#include "node-agent/generated/kernel_lines.h"
#include "node-agent/symbols/symbol_queue.h"
#include "node-agent/symbols/symbolizer_module.h"
#include "tests/support/cmocka_test.h"

#define PATH                                                                                       \
	"/tmp/torchinductor_u/ab/"                                                                 \
	"cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs.py"

struct kernel_lines *__wrap_generated_file_read(const struct generated_file_place *place);

static unsigned int nr_reads;
static pid_t pid_with_lines; /* the process whose file has lines; 0: none has */

struct kernel_lines *__wrap_generated_file_read(const struct generated_file_place *place)
{
	nr_reads++;
	return pid_with_lines && place->pid == pid_with_lines
		       ? kernel_lines_create(TEXT_SPAN_NONE, TEXT_SPAN_NONE, TEXT_SPAN_NONE)
		       : NULL;
}

static struct symbol_scope scope = {.max_open = 8};

static int set_up(void **state)
{
	nr_reads = 0;
	pid_with_lines = 0;
	*state = symbol_module_create(&scope);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	symbol_module_destroy(*state);
	return 0;
}

static const struct symbolizer_module first = {
	.kind = SYMBOLIZER_GENERATED, .pid = 70, .started_ns = 5, .path = PATH};

static void generated_file_without_lines_is_read_once_at_a_place(void **state)
{
	struct symbolizer_module place = first;

	for (int i = 0; i < 3; i++) {
		symbol_module_open(*state, &place);
		assert_int_equal(nr_reads, 1);
	}
	assert_true(symbol_module_is_in_memory(*state));
}

static void generated_file_without_lines_is_read_at_other_places(void **state)
{
	struct symbolizer_module place = first;

	symbol_module_open(*state, &first);
	place.started_ns++;
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 2);
	place.pid++;
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 3);
	place.in_other_root = true;
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 4);
	place.path = "/other" PATH;
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 5);
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 5);
}

static void generated_file_with_lines_is_not_read_at_other_places(void **state)
{
	struct symbolizer_module place = first;

	symbol_module_open(*state, &first);
	place.pid = pid_with_lines = 71;
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 2);
	symbol_module_open(*state, &first);
	place.pid = 72;
	symbol_module_open(*state, &place);
	assert_int_equal(nr_reads, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(generated_file_without_lines_is_read_once_at_a_place),
		TEST(generated_file_without_lines_is_read_at_other_places),
		TEST(generated_file_with_lines_is_not_read_at_other_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
