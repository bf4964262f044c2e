#include "report_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/roster.h"
#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "report/model/report_statistics.h"
#include "report/model/report_summary.h"
#include "report/profile/profile.h"
#include "report/writers/folded_writer.h"
#include "report/writers/json_writer.h"
#include "report/writers/ranks_writer.h"
#include "report/writers/statistics_writer.h"
#include "report/writers/table_writer.h"

static void write_memory(FILE *out, const struct profile *profile, enum report_memory memory)
{
	struct folded_options options = {.weight = FOLDED_BYTES};
	struct report_tree *tree;

	assert_int_equal(
		report_tree_build(profile, &(struct report_options){.memory = memory}, &tree), 0);
	assert_true(tree->nr_leaves > 0);
	assert_int_equal(report_by_parse("host,rank,gpu,thread", &options.by), 0);
	assert_int_equal(folded_writer_write(out, tree, &options), 0);
	options.weight = FOLDED_COUNT;
	assert_int_equal(folded_writer_write(out, tree, &options), 0);
	report_tree_destroy(tree);
}

/* Each plane's own, and all of them in one. */
static void write_planes(FILE *out, const struct profile *profile)
{
	struct folded_options options = {.unit = FOLDED_NS};

	assert_int_equal(report_by_parse("host,rank,gpu,stream,thread", &options.by), 0);
	for (uint32_t plane = 0; plane <= REPORT_PLANES; plane++) {
		const struct report_options planes = {
			.planes = plane < REPORT_PLANES ? 1u << plane : REPORT_PLANES_ALL};
		struct report_tree *tree;

		assert_int_equal(report_tree_build(profile, &planes, &tree), 0);
		assert_int_equal(folded_writer_write(out, tree, &options), 0);
		report_summary_planes(out, tree, "");
		report_tree_destroy(tree);
	}
}

static void write_ranks(FILE *out, const struct profile *profile)
{
	struct report_ranks *ranks;

	assert_int_equal(report_ranks_create(profile, &ranks), 0);
	assert_true(ranks->nr_rows > 0);
	assert_int_equal(ranks_writer_csv(out, ranks), 0);
	report_ranks_destroy(ranks);
}

/* When the last words came is the clock's; all else is not. */
static void forget_times(struct profile *profile)
{
	struct collection *collection = profile->collection;

	profile->written = profile->abandoned = false;
	for (uint32_t id = 1; id <= roster_size(collection->roster).processes; id++)
		roster_process(collection->roster, id)->spoke_ns = 0;
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		collection->sessions[i]->spoke_ns = 0;
}

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
	forget_times(profile);
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
	assert_int_equal(table_writer_write(out, tree, busy, &(struct table_options){.top = 100}),
			 0);
	for (int memory = REPORT_MEMORY_PEAK; memory <= REPORT_MEMORY_FREES; memory++)
		write_memory(out, profile, (enum report_memory)memory);
	write_planes(out, profile);
	write_ranks(out, profile);
	fclose(out);
	report_statistics_destroy(statistics);
	report_busy_destroy(busy);
	report_tree_destroy(tree);
	profile_destroy(profile);
	return text;
}

char *report_json_of(const char *path)
{
	struct profile *profile;
	struct report_tree *tree;
	struct report_busy *busy;
	struct report_statistics *statistics;
	char *text, *error;
	size_t size;

	if (profile_load(path, &profile, &error))
		fail_msg("%s", error);
	forget_times(profile);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(report_busy_create(profile, &busy), 0);
	assert_int_equal(report_statistics_create(profile, DEMANGLE_FULL, &statistics), 0);
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(json_writer_write(out, tree, busy, statistics, NULL, NULL, NULL), 0);
	fclose(out);
	report_statistics_destroy(statistics);
	report_busy_destroy(busy);
	report_tree_destroy(tree);
	profile_destroy(profile);
	return text;
}
