#include "node-agent/symbols/symbol_module.h"

#include <stdio.h>
#include <stdlib.h>

#include "node-agent/generated/generated_file.h"
#include "node-agent/generated/kernel_lines.h"
#include "node-agent/symbols/line_shares.h"
#include "node-agent/symbols/symbol_queue.h"
#include "node-agent/symbols/symbolizer_module.h"
#include "tests/support/cmocka_test.h"

#define PATH                                                                                       \
	"/tmp/torchinductor_u/ab/"                                                                 \
	"cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs.py"

struct kernel_lines *__wrap_generated_file_read(const struct generated_file_place *place);

static unsigned int nr_reads;
static struct text_span code;     /* of all files; size 0: see below */
static struct kernel_lines *last; /* that were read of it */
static pid_t pid_with_lines;      /* the process whose file has lines; 0: none has */

struct kernel_lines *__wrap_generated_file_read(const struct generated_file_place *place)
{
	nr_reads++;
	last = code.size > 0 ? kernel_lines_create(code, TEXT_SPAN_NONE, TEXT_SPAN_NONE) : NULL;
	if (last)
		return last;
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

/* A file whose lines take almost as much memory as they may. */
static char *make_large_file(void)
{
	enum { KERNELS = KERNEL_LINES_TEXT_MAX / 2000, PATH_SIZE = 1900 };
	char *text = malloc(KERNELS * (PATH_SIZE + 128ul)), *at = text;

	assert_non_null(text);
	for (int i = 0; i < KERNELS; i++)
		at += sprintf(at,
			      "# Original path: /%0*d:1\nk%d = async_compile.triton('f', '''\n'''\n"
			      "k%d.run(1)\n",
			      PATH_SIZE, i, i, i);
	code = (struct text_span){text, (size_t)(at - text)};
	return text;
}

/* Opens files of a user until no lines are kept. Returns the bytes of those that are. */
static size_t fill(struct symbol_module *modules[static 1000], uint32_t *count, uid_t owner)
{
	const struct symbol_request request = {.vaddr = 4};
	struct symbolizer_module place = first;
	bool is_in_text;
	size_t size = 0;

	for (place.owner = owner;; size += kernel_lines_size(last)) {
		assert_true(*count < 1000);
		struct symbol_module *module = modules[(*count)++] = symbol_module_create(&scope);

		assert_non_null(module);
		symbol_module_open(module, &place);
		if (!symbol_module_find(module, &request, NULL, 0, &is_in_text))
			return size;
	}
}

#define FILE_MAX (2 * KERNEL_LINES_TEXT_MAX) /* bytes of a file's lines: arrays double */

/* One user gets half of the memory, the next one half of the rest. */
static void users_share_the_memory_for_lines(void **state)
{
	static struct symbol_module *modules[1000];
	char *text = make_large_file();
	size_t left = LINE_SHARES_BYTES_MAX;
	uint32_t count = 0;

	(void)state;
	scope.line_shares = line_shares_create();
	assert_non_null(scope.line_shares);
	for (uid_t user = 60000; user < 60004; user++) {
		size_t size = fill(modules, &count, user);

		assert_in_range(size, left / 4, left / 2 + FILE_MAX);
		left -= size;
	}
	for (uint32_t i = 0; i < count; i++)
		symbol_module_destroy(modules[i]);
	line_shares_destroy(scope.line_shares);
	scope.line_shares = NULL;
	code.size = 0;
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(generated_file_without_lines_is_read_once_at_a_place),
		TEST(generated_file_without_lines_is_read_at_other_places),
		TEST(generated_file_with_lines_is_not_read_at_other_places),
		TEST(users_share_the_memory_for_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
