/* The verb `doctor`: names each obstacle to profiling on this host, and its remedy. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/base/verbs.h"
#include "cli/doctor/diagnosis.h"
#include "options/option_line.h"
#include "report/writers/row_text.h"

static const char *const words[] = {
	[DIAGNOSIS_GOOD] = "ok",
	[DIAGNOSIS_NOTE] = "note",
	[DIAGNOSIS_PROBLEM] = "PROBLEM",
};

static const char *const json_words[] = {
	[DIAGNOSIS_GOOD] = "ok",
	[DIAGNOSIS_NOTE] = "note",
	[DIAGNOSIS_PROBLEM] = "problem",
};

static void print_text(const struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct diagnosis_finding *finding = &diagnosis->findings[i];

		printf("%-8s %s: %s\n", words[finding->verdict], finding->subject, finding->text);
		if (finding->remedy[0])
			printf("%-8s %s\n", "  do", finding->remedy);
	}
}

static void write_finding(struct row_text *out, const void *row)
{
	const struct diagnosis_finding *finding = row;

	row_text_string(out, "subject", finding->subject);
	row_text_string(out, "verdict", json_words[finding->verdict]);
	row_text_string(out, "text", finding->text);
	row_text_string(out, "remedy", finding->remedy);
}

static void print_json(const struct diagnosis *diagnosis)
{
	printf("{\"verdict\":\"%s\",", json_words[diagnosis_verdict(diagnosis)]);
	row_text_json(stdout, "findings", write_finding, NULL, diagnosis->findings,
		      (uint32_t)diagnosis->count, sizeof(*diagnosis->findings));
	printf("}\n");
}

int verb_doctor(const char *program, int argc, char **argv)
{
	static struct diagnosis diagnosis;
	bool json = false;
	const struct option_target targets[] = {{"json", .flag = &json}};
	int status = option_line_parse(&option_table_doctor, targets, 1, argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	diagnosis_make(&diagnosis, program);
	diagnosis_ask_counters(&diagnosis, program);
	if (json)
		print_json(&diagnosis);
	else
		print_text(&diagnosis);
	return diagnosis_verdict(&diagnosis) == DIAGNOSIS_PROBLEM ? EXIT_FAILED : EXIT_OK;
}
