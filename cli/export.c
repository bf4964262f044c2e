/* The verb `export`: writes a profile, or those of a folder, to a ClickHouse or Pyroscope server (fleet). */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "fleet/export_follow.h"
#include "options/option_line.h"

int verb_export(const char *program, int argc, char **argv)
{
	const char *target_path = NULL, *jobs_path = NULL, *store_path = NULL;
	const struct option_table *table = &option_table_export;
	enum log_level level = LOG_LEVEL_INFO;
	struct export_target target;
	char store[PATH_MAX], *error = NULL;
	bool follows = false;
	const struct option_target targets[] = {
		{"to", .text = &target_path, .least = 1},
		{"jobs", .text = &jobs_path, .least = 1},
		{"follow", .flag = &follows},
		OPTION_TARGETS_MESSAGES(&level),
	};
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	log_set_level(level);
	if (!target_path)
		return option_line_refuse(table, "--to is missing");
	if (optind < argc)
		store_path = output_dir_store(argv[optind], store);
	if (!store_path && !jobs_path)
		return option_line_refuse(table, "a profile or --jobs is missing");
	status = export_target_read(target_path, &target, &error);
	if (status)
		log_error("%s", error ? error : strerror(-status));
	else if (follows)
		export_follow(store_path, jobs_path, &target);
	else if (!export_all(store_path, jobs_path, &target, false))
		status = -EIO;
	free(error);
	export_target_fini(&target);
	return status ? EXIT_FAILED : EXIT_OK;
}
