#include "base/memory_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#define LINES 20000 /* for which the memory grows more than three times */

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int fails_at; /* the call that fails; 0: none */

void *__wrap_realloc(void *memory, size_t size)
{
	if (fails_at && --fails_at == 0)
		return NULL;
	return __real_realloc(memory, size);
}

static int set_up(void **state)
{
	(void)state;
	fails_at = 0;
	return 0;
}

static void a_text_is_whole(void **state)
{
	struct memory_text text;
	char *bytes;
	size_t size;

	(void)state;
	assert_int_equal(memory_text_open(&text), 0);
	for (int i = 0; i < LINES; i++)
		fprintf(text.out, "%07d\n", i);
	assert_int_equal(memory_text_take(&text, &bytes, &size), 0);
	assert_int_equal(size, 8 * LINES);
	assert_int_equal(bytes[size], 0);
	for (int i = 0; i < LINES; i++)
		assert_int_equal(atoi(bytes + 8 * i), i);
	memory_text_drop(&text);
	free(bytes);
}

static void a_text_may_be_empty(void **state)
{
	struct memory_text text;
	char *bytes;
	size_t size;

	(void)state;
	assert_int_equal(memory_text_open(&text), 0);
	assert_int_equal(memory_text_take(&text, &bytes, &size), 0);
	assert_int_equal(size, 0);
	assert_string_equal(bytes, "");
	free(bytes);
}

/* Whichever growth fails, and though later ones do not. */
static void a_lost_write_is_not_forgotten(void **state)
{
	struct memory_text text;
	char *bytes;
	size_t size;

	(void)state;
	for (int nth = 1; nth <= 3; nth++) {
		assert_int_equal(memory_text_open(&text), 0);
		fails_at = nth;
		for (int i = 0; i < LINES; i++)
			fprintf(text.out, "%07d\n", i);
		assert_int_equal(memory_text_take(&text, &bytes, &size), -ENOMEM);
		assert_int_equal(fails_at, 0);
		assert_null(bytes);
		assert_int_equal(size, 0);
	}
}

static void a_text_can_be_dropped(void **state)
{
	struct memory_text text = {0};

	(void)state;
	memory_text_drop(&text);
	assert_int_equal(memory_text_open(&text), 0);
	fputs("text", text.out);
	memory_text_drop(&text);
	assert_null(text.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_text_is_whole, set_up),
		cmocka_unit_test_setup(a_text_may_be_empty, set_up),
		cmocka_unit_test_setup(a_lost_write_is_not_forgotten, set_up),
		cmocka_unit_test_setup(a_text_can_be_dropped, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
