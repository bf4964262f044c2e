#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/base/verbs.h"

struct verb {
	const char *name, *what;
	int (*call)(const char *program, int argc, char **argv);
};

static const struct verb verbs[] = {
	{"run", "profile a command", verb_run},
	{"control", "start and end the capture of running processes", verb_control},
	{"attach", "profile a running process with a dormant guest", verb_attach},
	{"detach", "end that", verb_detach},
	{"report", "show a profile as folded text, HTML, table, JSON or CSV", verb_report},
	{"diff", "how a rank differs from others, as folded text or HTML", verb_diff},
	{"doctor", "what stands in the way of profiling here", verb_doctor},
	{"step", "profile the tasks of a Slurm step, for its plugin and prolog", verb_step},
	{"keygen", "keys for an aggregator and its agents", verb_keygen},
	{"agent", "the node agent, as a daemon", verb_agent},
	{"aggregate", "the aggregator, as a daemon", verb_aggregate},
};

static void print_usage(FILE *out)
{
	fprintf(out, "Usage: flamegrid VERB [OPTION...]\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].what);
	fprintf(out, "\n`flamegrid VERB --help` says more; so does flamegrid(1).\n");
}

int main(int argc, char **argv)
{
	log_begin("flamegrid", NULL, LOG_LEVEL_NOTICE);
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("flamegrid %s\n", FLAMEGRID_VERSION);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return EXIT_OK;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0) {
			log_begin("flamegrid", verbs[i].name, LOG_LEVEL_NOTICE);
			return verbs[i].call(argv[0], argc - 1, argv + 1);
		}
	log_error("%s: no such verb (flamegrid --help lists them)", argv[1]);
	return EXIT_USAGE;
}
