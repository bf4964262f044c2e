#include "finding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ledger.h"

static void fini(struct finding *finding)
{
	free(finding->text);
	free(finding->evidence);
	free(finding->host);
	free(finding->line);
	free(finding->kernel);
}

int finding_add(struct findings *findings, struct finding *finding)
{
	if (findings->nr_findings == findings->room && finding->text && finding->evidence) {
		uint32_t room = 2 * findings->room + 8;
		struct finding *grown =
			realloc(findings->findings, room * sizeof(*findings->findings));

		if (grown) {
			findings->findings = grown;
			findings->room = room;
		}
	}
	if (!finding->text || !finding->evidence || findings->nr_findings == findings->room) {
		fini(finding);
		return -ENOMEM;
	}
	findings->findings[findings->nr_findings++] = *finding;
	return 0;
}

char *finding_line(const struct host_lines *lines)
{
	return lines->nr_lines ? strdup(lines->lines[0].text) : NULL;
}

void finding_sum(const struct report_tree *tree, host_lines_wanted *wanted, const void *context,
		 uint64_t *ns, uint64_t *count)
{
	*ns = *count = 0;
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (wanted(context, &tree->leaves[i])) {
			*ns = ledger_add_saturating(*ns, tree->leaves[i].ns);
			*count = ledger_add_saturating(*count, tree->leaves[i].count);
		}
}

uint64_t finding_window_ns(const struct findings_input *input)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < input->gpus->nr_rows; i++)
		sum_ns += input->gpus->rows[i].busy->busy_ns + input->gpus->rows[i].busy->idle_ns;
	return sum_ns;
}

void finding_list_fini(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->nr_findings; i++)
		fini(&findings->findings[i]);
	free(findings->findings);
	memset(findings, 0, sizeof(*findings));
}
