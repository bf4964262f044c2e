#include "findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "finding_kinds.h"

static int by_time(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->text, y->text);
}

int findings_create(const struct findings_input *input, struct findings **findings)
{
	static int (*const kinds[])(const struct findings_input *, struct findings *) = {
		short_kernels_find, blocking_copies_find, idle_gpus_find,     allocation_churn_find,
		exposed_nccl_find,  fp32_matmul_find,     low_occupancy_find,
	};
	int result = 0;

	*findings = calloc(1, sizeof(**findings));
	if (!*findings)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && result == 0; i++)
		result = kinds[i](input, *findings);
	if (result == 0 && (*findings)->nr_findings)
		qsort((*findings)->findings, (*findings)->nr_findings,
		      sizeof(*(*findings)->findings), by_time);
	if (result) {
		findings_destroy(*findings);
		*findings = NULL;
	}
	return result;
}

void findings_destroy(struct findings *findings)
{
	if (!findings)
		return;
	finding_list_fini(findings);
	free(findings);
}
