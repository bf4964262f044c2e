#include "report_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator/csv_writer.h"
#include "aggregator/folded_writer.h"
#include "aggregator/profile.h"
#include "aggregator/report_build.h"
#include "aggregator/report_busy.h"
#include "aggregator/report_statistics.h"
#include "aggregator/statistics_writer.h"
#include "aggregator/table_writer.h"

char *report_text_of(const char *path)
{
	struct folded_options options = {.unit = FOLDED_NS};
	struct profile *profile;
	struct report_tree *tree;
	struct report_busy *busy;
	struct report_statistics *statistics;
	char *text, *error;
	size_t size;

	if (profile_load(path, &profile, &error))
		fail_msg("%s", error);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(report_busy_create(profile, &busy), 0);
	assert_int_equal(report_statistics_create(profile, DEMANGLE_FULL, &statistics), 0);
	assert_int_equal(report_by_parse("host,rank,gpu,stream,thread", &options.by), 0);
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(folded_writer_write(out, tree, &options), 0);
	options.weight = FOLDED_COUNT;
	assert_int_equal(folded_writer_write(out, tree, &options), 0);
	options.weight = FOLDED_BYTES;
	assert_int_equal(folded_writer_write(out, tree, &options), 0);
	assert_int_equal(
		table_writer_write(out, tree, busy,
				   &(struct table_options){.top = 100, .statistics = statistics}),
		0);
	for (int rows = STATISTICS_ROWS_CALLS; rows <= STATISTICS_ROWS_CONFIGS; rows++)
		assert_int_equal(statistics_writer_csv(out, statistics, (enum statistics_rows)rows),
				 0);
	fclose(out);
	report_statistics_destroy(statistics);
	report_busy_destroy(busy);
	report_tree_destroy(tree);
	profile_destroy(profile);
	return text;
}
