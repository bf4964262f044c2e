#include "durations_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "row_text.h"
#include "text_file.h"

static const struct {
	const char *member, *first, *last; /* the names in JSON, and in CSV */
	uint32_t per_mille;
} percentiles[] = {
	{"p50_ns", "p50_first_ns", "p50_last_ns", 500},
	{"p90_ns", "p90_first_ns", "p90_last_ns", 900},
	{"p99_ns", "p99_first_ns", "p99_last_ns", 990},
};

/* Returns the longest launch of a kernel, wherever it ran; UINT64_MAX: not of all launches. */
static uint64_t longest_of(const struct report_group *group, uint64_t nr_all,
			   const struct report_statistics *statistics)
{
	uint64_t longest_ns = 0, count = 0;

	for (uint32_t i = 0; i < statistics->nr_configs; i++) {
		const struct report_config *config = &statistics->configs[i];

		if (strcmp(config->name, group->label) != 0)
			continue;
		count += config->count;
		longest_ns = config->max_ns > longest_ns ? config->max_ns : longest_ns;
	}
	return count && count == nr_all ? longest_ns : UINT64_MAX;
}

/* Returns what one duration of a bucket has at most, as all others have the begin of theirs at least. */
static uint64_t rest_of(const struct report_group *group, const struct duration_bin *list,
			uint32_t nr, uint32_t bucket)
{
	uint64_t least_ns = 0, others_ns;

	for (uint32_t i = 0; i < nr; i++)
		if (__builtin_mul_overflow(duration_bucket_first_ns(list[i].bucket), list[i].count,
					   &others_ns) ||
		    __builtin_add_overflow(least_ns, others_ns, &least_ns))
			return UINT64_MAX;
	least_ns -= duration_bucket_first_ns(bucket);
	return group->ns > least_ns ? group->ns - least_ns : UINT64_MAX;
}

uint64_t durations_writer_below(const struct report_group *group, uint64_t nr_all,
				const struct report_statistics *statistics, uint32_t per_mille)
{
	struct duration_bin list[DURATION_BUCKETS];
	const uint32_t nr = duration_bins_list(&group->durations, list);

	if (!nr)
		return 0;
	const uint32_t bucket = duration_list_quantile(list, nr, per_mille);
	const uint64_t end_ns = duration_bucket_last_ns(bucket) + 1;
	const uint64_t rest_ns = rest_of(group, list, nr, bucket);
	const uint64_t most_ns = statistics && group->kind == REPORT_KIND_KERNEL
					 ? longest_of(group, nr_all, statistics)
					 : UINT64_MAX;
	const uint64_t bound_ns = rest_ns < most_ns ? rest_ns : most_ns;
	return end_ns < bound_ns ? end_ns : bound_ns;
}

static void write_buckets(FILE *out, const struct duration_bin *list, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			duration_bucket_first_ns(list[i].bucket),
			duration_bucket_last_ns(list[i].bucket), list[i].count);
}

void durations_writer_bins(struct row_text *row, const struct duration_bin *list, uint32_t nr)
{
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++) {
		const uint32_t bucket =
			nr ? duration_list_quantile(list, nr, percentiles[i].per_mille) : 0;
		const uint64_t first = duration_bucket_first_ns(bucket);
		const uint64_t last = duration_bucket_last_ns(bucket);

		if (row->form == ROW_JSON) {
			row_text_print(row, percentiles[i].member, "[%" PRIu64 ",%" PRIu64 "]",
				       first, last);
			continue;
		}
		row_text_count(row, percentiles[i].first, first);
		row_text_count(row, percentiles[i].last, last);
	}
	if (row->form != ROW_JSON)
		return;
	row_text_print(row, "buckets", "[");
	write_buckets(row->out, list, nr);
	fputc(']', row->out);
}

static void write_row(struct row_text *out, const void *of)
{
	struct duration_bin list[DURATION_BUCKETS] = {{.count = 0}};
	const struct report_group *group = of;
	const uint32_t nr = duration_bins_list(&group->durations, list);

	row_text_string(out, "kind", report_groups_kind(group->kind));
	row_text_string(out, "name", group->label ? group->label : "");
	row_text_count(out, "count", group->count);
	row_text_count(out, "ns", group->ns);
	durations_writer_bins(out, list, nr);
}

/* Moves the groups that have durations before all others, and returns their number. */
static uint32_t choose(struct report_groups *groups)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < groups->nr_groups; i++) {
		const struct report_group group = groups->groups[i];

		if (!group.durations.first)
			continue;
		groups->groups[i] = groups->groups[nr];
		groups->groups[nr++] = group;
	}
	return nr;
}

int durations_writer_json(FILE *out, const struct report_tree *tree)
{
	struct report_groups groups;

	if (report_groups_init(&groups, tree, REPORT_GROUP_ACTIVITY, NULL))
		return -ENOMEM;
	const uint32_t nr = choose(&groups);
	row_text_json(out, "durations", write_row, NULL, groups.groups, nr, sizeof(*groups.groups));
	fputs(",\n", out);
	report_groups_fini(&groups);
	return 0;
}

int durations_writer_csv(FILE *out, const struct report_tree *tree)
{
	struct report_groups groups;

	if (report_groups_init(&groups, tree, REPORT_GROUP_ACTIVITY, NULL))
		return -ENOMEM;
	const uint32_t nr = choose(&groups);
	row_text_csv(out, write_row, &(struct report_group){.label = ""}, groups.groups, nr,
		     sizeof(*groups.groups));
	report_groups_fini(&groups);
	return text_file_flush(out);
}
