#include "report_straggler_causes.h"

#include "report_straggler_result.h"
#include "straggler_explain.h"

struct explaining {
	const struct profile *profile;
	const char *store_path;
	const struct report_straggler *report;
};

static int explain_rank(const struct explaining *explaining, struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *of =
		&explaining->report->communicators[rank->communicator];
	const struct report_straggler_member *member = &of->members[rank->member];
	const struct straggler_late late = {
		.fold = of->fold,
		.member = rank->member,
		.found = &member->found,
		.part_start_ns = member->moment.start_ns,
		.part_end_ns = member->moment.end_ns,
	};

	return straggler_explain(explaining->profile, explaining->store_path,
				 explaining->report->folds, &late, &rank->causes, &rank->nr_causes,
				 &rank->scope);
}

static int explain_group(const struct explaining *explaining, struct report_straggler_group *group)
{
	const struct report_straggler_communicator *of =
		&explaining->report->communicators[group->communicator];
	struct straggler_late late = {
		.fold = of->fold,
		.member = group->group->members[0],
		.group = group->group,
		.found = &group->group->found,
		.part_start_ns = group->moment.start_ns,
		.part_end_ns = group->moment.end_ns,
	};

	for (uint32_t i = 1; i < group->group->nr_members; i++) {
		uint32_t member = group->group->members[i];

		if (of->members[member].found.others_ns > of->members[late.member].found.others_ns)
			late.member = member;
	}
	return straggler_explain(explaining->profile, explaining->store_path,
				 explaining->report->folds, &late, &group->causes,
				 &group->nr_causes, &group->scope);
}

int report_straggler_causes_find(const struct profile *profile, const char *store_path,
				 struct report_straggler *report)
{
	const struct explaining explaining = {profile, store_path, report};
	int error = 0;

	for (uint32_t i = 0; i < report->nr_groups && !error; i++) {
		struct report_straggler_group *group = &report->groups[i];

		group->scope.is_skipped = i >= REPORT_STRAGGLER_EXPLAINED;
		if (!group->scope.is_skipped)
			error = explain_group(&explaining, group);
	}
	for (uint32_t i = 0; i < report->nr_named && !error; i++) {
		struct report_straggler_rank *rank = &report->ranks[i];

		rank->scope.is_skipped = i >= REPORT_STRAGGLER_EXPLAINED;
		if (!rank->scope.is_skipped)
			error = explain_rank(&explaining, rank);
	}
	return error;
}
