#include "inject/nvtx/xla_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nvtx_text text;

static void assert_text(const char *expected)
{
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.bytes, expected, text.size);
}

static void titles_have_the_operation_first(void **state)
{
	(void)state;
	assert_true(xla_text_title(
		&text, "Thunk:#name=jit(f)/a[x=1,hlo_op],hlo_op=dot.5,unique_hlo_op_id=77#"));
	assert_text("Thunk:#hlo_op=dot.5,unique_hlo_op_id=77,name=jit(f)/a[x=1,hlo_op]#");
	assert_true(xla_text_title(&text, "Thunk:#hlo_op=copy.1,unique_hlo_op_id=9#"));
	assert_text("Thunk:#hlo_op=copy.1,unique_hlo_op_id=9#");
	assert_true(xla_text_title(&text, "Thunk:#hlo_op=copy.1#"));
	assert_text("Thunk:#hlo_op=copy.1#");
}

static void a_long_name_is_cut_and_the_operation_is_not(void **state)
{
	char title[1000];

	(void)state;
	snprintf(title, sizeof(title), "Thunk:#name=%0500d,hlo_op=dot.5#", 0);
	assert_true(xla_text_title(&text, title));
	assert_int_equal(text.size, NVTX_TEXT_MAX);
	assert_memory_equal(text.bytes, "Thunk:#hlo_op=dot.5,name=00", 27);
	assert_int_equal(text.bytes[NVTX_TEXT_MAX - 1], '#');
}

static void other_strings_are_no_titles(void **state)
{
	(void)state;
	assert_false(xla_text_title(&text, ""));
	assert_false(xla_text_title(&text, "Thunk:#"));
	assert_false(xla_text_title(&text, "Thunk:#name=x#"));
	assert_false(xla_text_title(&text, "XlaModule:#hlo_module=jit_f,program_id=7#"));
	assert_false(xla_text_title(&text, "copy.1 = s32[] copy(args_0_.1), hlo_op=7#"));
}

static void each_place_is_there_once(void **state)
{
	(void)state;
	assert_true(xla_text_places(&text, "\n- /home/u/train.py:19:10[main] concatenate\n"
					   "- /home/u/train.py:19:10[main] convert[a=(1,\n0)]\n"
					   "- /home/u/train.py:7[layer]\n"));
	assert_text("train.py:main:19, train.py:layer:7");
}

static void the_innermost_line_of_each_stack_counts(void **state)
{
	(void)state;
	assert_true(xla_text_places(&text, "\n- /u/train.py:30:1[&lt;module&gt;]\n"
					   "-- /u/train.py:20:1[step]\n"
					   "--- /u/net.py:5:9[layer] tanh\n"
					   "-- /u/train.py:21:1[step] add\n"));
	assert_text("net.py:layer:5, train.py:step:21");
	assert_true(xla_text_places(&text, "- /u/train.py:30:1[&lt;module&gt;] mul\n"));
	assert_text("train.py:<module>:30");
}

static void lines_of_packages_give_way_to_the_users(void **state)
{
	(void)state;
	assert_true(xla_text_places(
		&text, "\n- /u/train.py:20:1[step]\n"
		       "-- /v/lib/python3.12/site-packages/flax/linen.py:400:1[Dense] dot\n"));
	assert_text("train.py:step:20");
	assert_true(xla_text_places(
		&text, "- /v/lib/python3.12/site-packages/flax/linen.py:400:1[Dense] dot\n"));
	assert_text("linen.py:Dense:400");
}

static void frames_without_a_function_have_a_line(void **state)
{
	(void)state;
	assert_true(xla_text_places(&text, "\n- /u/train.py:20 add\n- /u/a b/[x]/y.py:3\n"));
	assert_text("train.py:20, y.py:3");
}

static void what_is_no_place_is_left_out(void **state)
{
	(void)state;
	assert_false(xla_text_places(&text, ""));
	assert_false(xla_text_places(&text, "\n"));
	assert_false(xla_text_places(&text,
				     "\nfused {\n  x = s32[] parameter(0)\n- :\n- a\n-- b:1[c]\n"));
	assert_false(xla_text_places(&text, "- :7[f]\n"));
}

static void too_many_places_end_in_dots(void **state)
{
	char string[20000] = "\n";

	(void)state;
	for (int i = 0; i < 300; i++)
		sprintf(string + strlen(string), "- /u/train.py:%d:1[step] add\n", 100 + i);
	assert_true(xla_text_places(&text, string));
	assert_true(text.size <= NVTX_TEXT_MAX);
	assert_memory_equal(text.bytes + text.size - 5, ", ...", 5);
}

/* No input leads out of the buffers (with a sanitizer), and texts stay within their size. */
static void any_bytes_are_read_safely(void **state)
{
	static const char alphabet[] = "-- /:[]\n#,=19ab&lt;hlo_op=Thunk:#";

	(void)state;
	srand(7);
	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)(rand() % 300);
		char *string = malloc(size + 1);

		for (size_t i = 0; i < size; i++)
			string[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		string[size] = '\0';
		xla_text_places(&text, string);
		assert_true(text.size <= NVTX_TEXT_MAX);
		if (size > 7 && rand() % 2)
			memcpy(string, "Thunk:#", 7);
		xla_text_title(&text, string);
		assert_true(text.size <= NVTX_TEXT_MAX);
		free(string);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(titles_have_the_operation_first),
		cmocka_unit_test(a_long_name_is_cut_and_the_operation_is_not),
		cmocka_unit_test(other_strings_are_no_titles),
		cmocka_unit_test(each_place_is_there_once),
		cmocka_unit_test(the_innermost_line_of_each_stack_counts),
		cmocka_unit_test(lines_of_packages_give_way_to_the_users),
		cmocka_unit_test(frames_without_a_function_have_a_line),
		cmocka_unit_test(what_is_no_place_is_left_out),
		cmocka_unit_test(too_many_places_end_in_dots),
		cmocka_unit_test(any_bytes_are_read_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
