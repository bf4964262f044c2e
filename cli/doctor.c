/* The verb `doctor`: what stands in the way of profiling here, and what to do about it. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/base/verbs.h"
#include "cli/run/diagnosis.h"
#include "report/writers/json_text.h"

static const char usage[] =
	"Usage: flamegrid doctor [--json]\n"
	"Says what of this machine and environment stands in the way of profiling, and what to do "
	"about it.\n"
	"\n"
	"      --json           as JSON\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0; 1 there is a problem: a run would have no GPU work in it; 2 usage.\n";

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

static void print_json(const struct diagnosis *diagnosis)
{
	printf("{\"verdict\":\"%s\",\"findings\":[", json_words[diagnosis_verdict(diagnosis)]);
	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct diagnosis_finding *finding = &diagnosis->findings[i];

		printf("%s\n{\"subject\":", i ? "," : "");
		json_text_write(stdout, finding->subject);
		printf(",\"verdict\":\"%s\",\"text\":", json_words[finding->verdict]);
		json_text_write(stdout, finding->text);
		printf(",\"remedy\":");
		json_text_write(stdout, finding->remedy);
		printf("}");
	}
	printf("]}\n");
}

int verb_doctor(const char *program, int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct diagnosis diagnosis;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return EXIT_OK;
		}
		if (option != 'j') {
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
		json = true;
	}
	if (optind < argc) {
		log_error("%s: not an option", argv[optind]);
		return EXIT_USAGE;
	}
	diagnosis_make(&diagnosis, program);
	if (json)
		print_json(&diagnosis);
	else
		print_text(&diagnosis);
	return diagnosis_verdict(&diagnosis) == DIAGNOSIS_PROBLEM ? EXIT_FAILED : EXIT_OK;
}
