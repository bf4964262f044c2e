#include "findings_writer.h"

#include "row_text.h"

#include "report/findings/findings.h"

void findings_writer_text(FILE *out, const struct findings *findings, const struct text_form *form)
{
	if (findings->nr_findings == 0)
		return;
	fputc('\n', out);
	text_form_bold(out, form, true);
	fputs("findings", out);
	text_form_bold(out, form, false);
	fputc('\n', out);
	for (uint32_t i = 0; i < findings->nr_findings; i++) {
		const struct finding *finding = &findings->findings[i];

		fputs("  ", out);
		text_form_bold(out, form, true);
		fputs(finding->text, out);
		text_form_bold(out, form, false);
		fprintf(out, "\n    evidence: %s (threshold: %g %%)\n    cure: %s\n",
			finding->evidence, 100 * finding->threshold, finding->cure);
	}
}

static void write_text_or_null(struct row_text *out, const char *name, const char *text)
{
	if (text)
		row_text_string(out, name, text);
	else
		row_text_number(out, name, false, 0);
}

static void write_finding(struct row_text *out, const void *of)
{
	const struct finding *finding = of;

	row_text_string(out, "kind", finding->kind);
	row_text_string(out, "text", finding->text);
	row_text_string(out, "evidence", finding->evidence);
	row_text_string(out, "cure", finding->cure);
	row_text_print(out, "share", "%.4f", finding->share);
	row_text_print(out, "threshold", "%.4f", finding->threshold);
	row_text_count(out, "ns", finding->ns);
	row_text_string(out, "plane", report_plane_name(finding->plane));
	write_text_or_null(out, "line", finding->line);
	write_text_or_null(out, "kernel", finding->kernel);
	write_text_or_null(out, "host", finding->host);
	row_text_number(out, "rank", finding->rank != REPORT_RANK_NONE, finding->rank);
	row_text_number(out, "gpu", finding->gpu != REPORT_GPU_NONE, finding->gpu);
}

void findings_writer_json(FILE *out, const struct findings *findings)
{
	row_text_json(out, "findings", write_finding, NULL, findings->findings,
		      findings->nr_findings, sizeof(*findings->findings));
	fputs(",\n", out);
}
