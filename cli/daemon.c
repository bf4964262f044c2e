/* The verbs `agent` and `aggregate`: start the daemons under the name `flamegrid`. */
#include <string.h>

#include "base/log.h"
#include "cli/base/verbs.h"
#include "proto/install_paths.h"

static int exec_daemon(const char *program, const char *name, char **argv)
{
	struct install_paths paths;
	int error = install_paths_find(program, &paths);

	if (error == 0 || paths.root[0] == '/') {
		argv[0] = (char *)name;
		error = install_paths_exec(&paths, name, argv);
	}
	log_error("%s: cannot be started: %s", name, strerror(-error));
	return EXIT_FAILED;
}

int verb_agent(const char *program, int argc, char **argv)
{
	(void)argc;
	return exec_daemon(program, "flamegrid-agent", argv);
}

int verb_aggregate(const char *program, int argc, char **argv)
{
	(void)argc;
	return exec_daemon(program, "flamegrid-aggregator", argv);
}
