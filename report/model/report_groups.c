#include "report_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kind_name.h"

#include "proto/ledger.h"
#include "proto/model_lines.h"

/* Returns what is behind the "[GPU0_Kernel]" of a leaf's name. */
static const char *behind_kind(const char *name)
{
	const char *end = strchr(name, ']');

	return end ? end + 1 : name;
}

bool report_groups_is_assumed(const char *name)
{
	return strncmp(behind_kind(name), MODEL_LINES_NEAR, strlen(MODEL_LINES_NEAR)) == 0;
}

const char *report_groups_activity(const char *name)
{
	return behind_kind(name) + (report_groups_is_assumed(name) ? strlen(MODEL_LINES_NEAR) : 0);
}

const char *report_groups_kind(uint32_t kind)
{
	return kind_name_column(kind);
}

static struct report_group group_of(const struct report_tree *tree, const struct report_leaf *leaf,
				    enum report_group_by by, const struct report_by *split)
{
	struct report_group group = {
		.label = "", .count = leaf->count, .ns = leaf->ns, .bytes = leaf->bytes};

	if (by == REPORT_GROUP_ACTIVITY) {
		group.label = report_groups_activity(tree->strings[leaf->name]);
		group.kind = leaf->kind;
	}
	for (uint32_t i = 0; split && i < split->nr_dimensions; i++)
		group.values[i] = report_dimension_value(leaf, split->dimensions[i]);
	return group;
}

static int by_identity(const void *a, const void *b)
{
	const struct report_group *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	if (order == 0)
		order = (x->kind > y->kind) - (x->kind < y->kind);
	for (uint32_t i = 0; order == 0 && i < REPORT_DIMENSIONS; i++)
		order = (x->values[i] > y->values[i]) - (x->values[i] < y->values[i]);
	return order;
}

static int by_time(const void *a, const void *b)
{
	const struct report_group *x = a, *y = b;
	int order = (x->ns < y->ns) - (x->ns > y->ns);

	return order ? order : by_identity(a, b);
}

/* Adds the histograms of leaves to their groups, which are sorted by identity. */
static int add_durations(struct report_groups *groups, const struct report_tree *tree,
			 const struct report_by *split)
{
	struct duration_bin list[DURATION_BUCKETS];
	int error = 0;

	for (uint32_t i = 0; i < groups->nr_groups; i++)
		groups->groups[i].has_durations = true;
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
		const struct report_group wanted =
			group_of(tree, &tree->leaves[i], REPORT_GROUP_ACTIVITY, split);
		const uint32_t nr = duration_bins_list(&tree->leaves[i].durations, list);
		struct report_group *group = bsearch(&wanted, groups->groups, groups->nr_groups,
						     sizeof(wanted), by_identity);

		group->has_durations &= tree->leaves[i].has_durations;
		for (uint32_t j = 0; j < nr && !error; j++)
			error = duration_bins_add(&group->durations, list[j].bucket, list[j].count);
	}
	for (uint32_t i = 0; i < groups->nr_groups; i++)
		if (!groups->groups[i].has_durations)
			duration_bins_fini(&groups->groups[i].durations);
	return error;
}

int report_groups_init(struct report_groups *groups, const struct report_tree *tree,
		       enum report_group_by by, const struct report_by *split)
{
	uint32_t count = 0;

	*groups = (struct report_groups){0};
	groups->groups = calloc(tree->nr_leaves ? tree->nr_leaves : 1, sizeof(*groups->groups));
	if (!groups->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		groups->groups[i] = group_of(tree, &tree->leaves[i], by, split);
	if (tree->nr_leaves)
		qsort(groups->groups, tree->nr_leaves, sizeof(*groups->groups), by_identity);
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		struct report_group *group = &groups->groups[i], *last = groups->groups + count - 1;

		if (count == 0 || by_identity(last, group) != 0) {
			groups->groups[count++] = *group;
			continue;
		}
		last->count = ledger_add_saturating(last->count, group->count);
		last->ns = ledger_add_saturating(last->ns, group->ns);
		last->bytes = ledger_add_saturating(last->bytes, group->bytes);
	}
	groups->nr_groups = count;
	if (by == REPORT_GROUP_ACTIVITY && add_durations(groups, tree, split)) {
		report_groups_fini(groups);
		return -ENOMEM;
	}
	if (count)
		qsort(groups->groups, count, sizeof(*groups->groups), by_time);
	return 0;
}

void report_groups_fini(struct report_groups *groups)
{
	for (uint32_t i = 0; i < groups->nr_groups; i++)
		duration_bins_fini(&groups->groups[i].durations);
	free(groups->groups);
	*groups = (struct report_groups){0};
}
