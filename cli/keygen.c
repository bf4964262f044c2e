/* The verb `keygen`: makes keys for one aggregator and the agents that send to it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/service/admission.h"
#include "base/log.h"
#include "cli/base/verbs.h"
#include "options/option_line.h"
#include "proto/trust/key_set.h"

static int fail(const char *what, int error)
{
	log_error("%s: %s", what, strerror(error));
	return EXIT_FAILED;
}

static int join(char path[static PATH_MAX], const char *directory, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int make_keys(const char *directory)
{
	char aggregator[PATH_MAX], agent[PATH_MAX];
	struct key_set keys = {0};
	int r;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail(directory, errno);
	r = join(aggregator, directory, "aggregator.keys");
	if (r == 0)
		r = join(agent, directory, "agent.keys");
	if (r)
		return fail(directory, -r);
	r = admission_make_keys(&keys);
	if (r)
		return fail("this ZeroMQ was built without CURVE", -r);
	r = key_set_write(aggregator, KEY_ROLE_AGGREGATOR, &keys);
	if (r)
		return fail(aggregator, -r);
	r = key_set_write(agent, KEY_ROLE_AGENT, &keys);
	if (r) {
		unlink(aggregator); /* a single file of the pair is of no use */
		return fail(agent, -r);
	}
	printf("%s\n%s\n", aggregator, agent);
	return EXIT_OK;
}

int verb_keygen(const char *program, int argc, char **argv)
{
	int status = option_line_parse(&option_table_keygen, NULL, 0, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	return make_keys(argv[optind]);
}
