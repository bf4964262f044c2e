/* Symbols of GPU code, and the names that reports make of them. */
#include "node-agent/cubin/cubin_frame_name.h"

#include <stdlib.h>
#include <string.h>

#include "report/names/demangle.h"
#include "report/names/source_name.h"
#include "report/names/symbol_part.h"
#include "tests/support/cmocka_test.h"

#define KERNEL "_Z6kernelPf"

static void assert_symbol(struct cubin_frame frame, const char *expected)
{
	char text[256];
	size_t size = cubin_frame_name_write(&frame, KERNEL, text, sizeof(text));

	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(expected));
	/* It fits exactly, or not at all. */
	assert_int_equal(cubin_frame_name_write(&frame, KERNEL, text, size + 1), size);
	assert_int_equal(cubin_frame_name_write(&frame, KERNEL, text, size), 0);
	assert_int_equal(cubin_frame_name_write(&frame, KERNEL, text, 0), 0);
}

static void kernel_itself_is_its_file_and_line(void **state)
{
	(void)state;
	assert_symbol((struct cubin_frame){KERNEL, "/home/u/source.cu", 17}, "source.cu:17");
	assert_symbol((struct cubin_frame){KERNEL, "source.cu", 17}, "source.cu:17");
	assert_symbol((struct cubin_frame){KERNEL, "/home/u/", 17}, "/home/u/:17");
	assert_symbol((struct cubin_frame){KERNEL, "source.cu", 0}, "source.cu");
	assert_symbol((struct cubin_frame){KERNEL, NULL, 0}, KERNEL);
}

static void other_functions_have_a_name(void **state)
{
	(void)state;
	assert_symbol((struct cubin_frame){"_Z6helperf", "/home/u/source.cu", 9},
		      "_Z6helperf\t/home/u/source.cu:9");
	assert_symbol((struct cubin_frame){"_Z6helperf", "/home/u/source.cu", 0}, "_Z6helperf");
	assert_symbol((struct cubin_frame){"divide", NULL, 0}, "divide");
	assert_symbol((struct cubin_frame){NULL, "/home/u/source.cu", 4294967295u},
		      "source.cu:4294967295");
	assert_symbol((struct cubin_frame){"", "", 3}, "??");
	assert_symbol((struct cubin_frame){NULL, NULL, 0}, "??");
}

static void hostile_names_make_no_further_parts(void **state)
{
	(void)state;
	assert_symbol((struct cubin_frame){"a\nb\tc", "/d\n/e\tf.cu", 9}, "a?b?c\t/d?/e?f.cu:9");
	assert_symbol((struct cubin_frame){KERNEL, "e\tf\n.cu", 9}, "e?f?.cu:9");
}

static const struct cubin_frame chain[] = {
	{"_ZN2ns4leafEf", "/src/helpers.cuh", 9},
	{"_ZN2ns5outerILi4EEEff", "/src/helpers.cuh", 15},
	{KERNEL, "/src/source.cu", 18},
};

static void chain_is_a_symbol_of_several_functions(void **state)
{
	static const char expected[] = "source.cu:18\n"
				       "_ZN2ns5outerILi4EEEff\t/src/helpers.cuh:15\n"
				       "_ZN2ns4leafEf\t/src/helpers.cuh:9";
	char text[256];

	(void)state;
	assert_int_equal(cubin_frame_name_chain(chain, 3, KERNEL, text, sizeof(text)),
			 sizeof(expected) - 1);
	assert_string_equal(text, expected);
	/* The innermost ones go where there is no room. */
	assert_int_equal(cubin_frame_name_chain(chain, 3, KERNEL, text, sizeof(expected) - 1), 54);
	assert_string_equal(text, "source.cu:18\n_ZN2ns5outerILi4EEEff\t/src/helpers.cuh:15");
	assert_int_equal(cubin_frame_name_chain(chain, 3, KERNEL, text, 14), 12);
	assert_string_equal(text, "source.cu:18");
	assert_int_equal(cubin_frame_name_chain(chain, 3, KERNEL, text, 12), 0);
	assert_string_equal(text, "");
	assert_int_equal(cubin_frame_name_chain(chain, 0, KERNEL, text, sizeof(text)), 0);
	assert_int_equal(cubin_frame_name_chain(chain, 3, KERNEL, text, 0), 0);
}

/* Does what report_names.c does with a part of a symbol. The caller owns the text. */
static char *name_for_people(const struct symbol_part *part)
{
	const char *colon = part->source ? memrchr(part->source, ':', part->source_size) : NULL;
	char *mangled = strndup(part->name, part->name_size);
	char *name = demangle_name(mangled, DEMANGLE_SIMPLE);
	size_t file_size = colon ? (size_t)(colon - part->source) : 0, size;

	free(mangled);
	assert_non_null(name);
	if (!colon)
		return name;
	const char *file = source_name_file(part->source, &file_size);
	char *text = source_name_make(file, file_size, name, strlen(name),
				      strtoull(colon + 1, NULL, 10), &size);
	free(name);
	assert_non_null(text);
	return text;
}

static void reports_make_names_for_people(void **state)
{
	static const char *const expected[] = {"source.cu:18", "helpers.cuh:ns::outer:15",
					       "helpers.cuh:ns::leaf:9"};
	char text[256];
	size_t size = cubin_frame_name_chain(chain, 3, KERNEL, text, sizeof(text)), nr_parts = 0;
	const char *at = text;
	struct symbol_part part;

	(void)state;
	while (symbol_part_next(&at, text + size, &part)) {
		char *name = name_for_people(&part);

		assert_true(nr_parts < 3);
		assert_string_equal(name, expected[nr_parts++]);
		free(name);
	}
	assert_int_equal(nr_parts, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_itself_is_its_file_and_line),
		cmocka_unit_test(other_functions_have_a_name),
		cmocka_unit_test(hostile_names_make_no_further_parts),
		cmocka_unit_test(chain_is_a_symbol_of_several_functions),
		cmocka_unit_test(reports_make_names_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
