#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/optional_library.h"
#include "tests/support/cmocka_test.h"

struct functions {
	char *(*copy)(const char *text);
	size_t (*length)(const char *text);
};

/* The file and the name of its second symbol, as libc has them or not. */
static int load(const char *file, const char *name, struct functions *functions, char **error)
{
	const struct optional_library_symbol symbols[] = {
		{"strdup", offsetof(struct functions, copy)},
		{name, offsetof(struct functions, length)}};
	struct optional_library library = {.file = file,
					   .missing = "a thing is missing (package)",
					   .symbols = symbols,
					   .nr_symbols = 2,
					   .functions = functions,
					   .lock = PTHREAD_MUTEX_INITIALIZER};
	int status = optional_library_load(&library, error);

	assert_int_equal(optional_library_load(&library, error), status);
	assert_int_equal(library.is_loaded, status == 0);
	return status;
}

static void loaded_library_has_its_functions(void **state)
{
	struct functions functions;
	char *error = NULL;

	(void)state;
	assert_int_equal(load("libc.so.6", "strlen", &functions, &error), 0);
	assert_null(error);
	assert_int_equal(functions.length("four"), 4);
}

static void missing_library_or_symbol_is_named(void **state)
{
	static const char *const cases[][3] = {
		{"libflamegrid_absent.so.1", "strlen", "libflamegrid_absent.so.1"},
		{"libc.so.6", "flamegrid_absent", "flamegrid_absent"}};
	struct functions functions;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *error = NULL;

		assert_int_equal(load(cases[i][0], cases[i][1], &functions, &error), -ENOPKG);
		assert_int_equal(strncmp(error, "a thing is missing (package): ", 30), 0);
		assert_non_null(strstr(error, cases[i][2]));
		free(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaded_library_has_its_functions),
		cmocka_unit_test(missing_library_or_symbol_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
