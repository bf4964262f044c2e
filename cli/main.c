#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/roomy_stack.h"
#include "cli/base/newest_profile.h"
#include "cli/base/verbs.h"
#include "node-agent/counters/counter_child.h"
#include "options/option_help.h"
#include "report/names/clean_text.h"

static const struct verb {
	const struct option_table *table;
	int (*call)(const char *program, int argc, char **argv);
} verbs[] = {
	{&option_table_run, verb_run},
	{&option_table_report, verb_report},
	{&option_table_diff, verb_diff},
	{&option_table_check, verb_check},
	{&option_table_serve, verb_serve},
	{&option_table_watch, verb_watch},
	{&option_table_top, verb_top},
	{&option_table_timeline, verb_timeline},
	{&option_table_merge, verb_merge},
	{&option_table_export, verb_export},
	{&option_table_fetch, verb_fetch},
	{&option_table_control, verb_control},
	{&option_table_attach, verb_attach},
	{&option_table_detach, verb_detach},
	{&option_table_doctor, verb_doctor},
	{&option_table_demo, verb_demo},
	{&option_table_step, verb_step},
	{&option_table_metrics, verb_metrics},
	{&option_table_keygen, verb_keygen},
	{&option_table_agent, verb_agent},
	{&option_table_aggregate, verb_aggregate},
};

static void print_usage(FILE *out)
{
	fputs("Usage: flamegrid VERB [OPTION...]\n\n", out);
	option_help_verbs(out);
	fputs("\n`flamegrid VERB --help` says more; so does flamegrid(1).\n", out);
}

/* Returns the verb of this name. NULL: none; *near may then be a similar name. */
static const struct verb *find_verb(const char *name, const char **near)
{
	size_t least = SIZE_MAX;

	*near = NULL;
	if (strcmp(name, "record") == 0) /* as other profilers call it */
		name = "run";
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(name, verbs[i].table->verb) == 0)
			return &verbs[i];
		if (option_is_near(name, verbs[i].table->verb, &least))
			*near = verbs[i].table->verb;
	}
	return NULL;
}

/* Says what to do next, by what is in the directory. */
static void print_start(void)
{
	char path[PATH_MAX], age[NEWEST_PROFILE_AGE_SIZE];
	uint64_t age_s;

	if (newest_profile_find(".", NULL, path, &age_s)) {
		char *clean = clean_text_of(path, strlen(path));

		fprintf(stderr,
			"flamegrid report            shows %s, of %s\n"
			"flamegrid report --open     opens its page in a browser\n",
			clean ? clean : "the newest profile", newest_profile_age(age_s, age));
		free(clean);
	} else {
		fputs("flamegrid doctor            says whether this machine can profile\n"
		      "flamegrid run -- COMMAND    profiles a command; under Slurm: srun flamegrid "
		      "run -- COMMAND\n"
		      "flamegrid demo              profiles a small program, with or without a "
		      "GPU\n",
		      stderr);
	}
	fputs("flamegrid --help            lists all verbs\n", stderr);
}

static bool is_version(const char *option)
{
	return strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0;
}

static int print_version(void)
{
	printf("flamegrid %s\n", FLAMEGRID_VERSION);
	return EXIT_OK;
}

/* The exit status. */
static int call_verb(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL, *near;
	char *help[] = {NULL, (char *)"--help", NULL};

	log_begin("flamegrid", NULL, LOG_LEVEL_NOTICE);
	if (!name) {
		print_start();
		return EXIT_USAGE;
	}
	if (strcmp(name, "version") == 0 || is_version(name))
		return print_version();
	bool wants_help = strcmp(name, "help") == 0;
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (wants_help && argc == 2)) {
		print_usage(stdout);
		return EXIT_OK;
	}
	if (wants_help)
		name = argv[2];
	const struct verb *verb = find_verb(name, &near);
	if (verb)
		log_begin("flamegrid", verb->table->verb, LOG_LEVEL_NOTICE);
	if (verb && wants_help) {
		help[0] = argv[2];
		return verb->call(argv[0], 2, help);
	}
	if (verb && argc == 3 && is_version(argv[2]))
		return print_version();
	if (verb)
		return verb->call(argv[0], argc - 1, argv + 1);
	if (near)
		log_error("%s: no such verb; did you mean %s?", name, near);
	else
		log_error("%s: no such verb (flamegrid --help lists them)", name);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	if (counter_child_is_asked(argc, argv))
		return counter_child_run(argv);

	int status = roomy_stack_run(call_verb, argc, argv);

	/* What was asked for and could not be printed is a failure. */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	/* A verb that failed has said why. */
	if (status != EXIT_OK)
		return status;
	log_error("standard output: %s", strerror(errno ? errno : EIO));
	return EXIT_FAILED;
}
