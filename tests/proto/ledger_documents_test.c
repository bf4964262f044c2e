/* docs/data-loss.md names every counter, with what is to be done. ARGS: it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/ledger.h"

static const char *losses_path;

static char *read_all(const char *path)
{
	static char text[1 << 18];
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	size_t size = fread(text, 1, sizeof(text) - 1, file);
	assert_true(feof(file));
	fclose(file);
	text[size] = '\0';
	return text;
}

static void every_counter_has_a_row_of_its_own(void **state)
{
	static const char *const classes[] = {
		[LEDGER_PRODUCED] = "produced", [LEDGER_LOST] = "lost", [LEDGER_NOTED] = "noted",
		[LEDGER_ENDS] = "end",          [LEDGER_COST] = "cost",
	};
	const char *losses = read_all(losses_path);
	char row[128];

	(void)state;
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
		if (reason == LEDGER_UNUSED)
			continue;
		snprintf(row, sizeof(row), "\n| `%s` | %s | ", ledger_reason_name(reason),
			 classes[ledger_reason_class(reason)]);
		if (!strstr(losses, row))
			fail_msg("not in %s:%s", losses_path, row);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_has_a_row_of_its_own),
	};

	if (argc != 2)
		return 2;
	losses_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
