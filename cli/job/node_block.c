#include "node_block.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rendezvous_search.h"

static bool is_known(const struct job_step *step)
{
	return step->node_index >= 0 &&
	       (step->nr_nodes == JOB_STEP_UNKNOWN || step->node_index < step->nr_nodes);
}

uint32_t node_block_of(const struct job_step *step, uint32_t fan_in)
{
	return is_known(step) ? (uint32_t)step->node_index / fan_in : 0;
}

int32_t node_block_size(const struct job_step *step, uint32_t fan_in)
{
	if (!is_known(step) || step->nr_nodes == JOB_STEP_UNKNOWN)
		return step->nr_nodes;
	const uint32_t before = step->block * fan_in;
	const uint32_t left =
		(uint32_t)step->nr_nodes > before ? (uint32_t)step->nr_nodes - before : 0;

	return (int32_t)(left < fan_in ? left : fan_in);
}

bool node_block_is_one_of_several(const struct job_step *step, uint32_t fan_in)
{
	return is_known(step) && (step->nr_nodes == JOB_STEP_UNKNOWN ||
				  node_block_size(step, fan_in) != step->nr_nodes);
}

/* Calls visit for one name in the folder, if it is that of a block's file. */
static int visit_file(const char *path, const char *first,
		      int (*visit)(void *context, const char *path,
				   const struct rendezvous *rendezvous),
		      void *context)
{
	struct rendezvous rendezvous;
	char *error;
	int r = rendezvous_read(path, &rendezvous, &error);

	free(error);
	return r == 0 && strcmp(rendezvous.first, first) == 0 ? visit(context, path, &rendezvous)
							      : 0;
}

static bool is_block(const char *name, const char *start)
{
	const size_t size = strlen(start);
	const char *number = name + size;

	return strncmp(name, start, size) == 0 && *number &&
	       strcmp(number + strspn(number, "0123456789"), RENDEZVOUS_SUFFIX) == 0;
}

int node_block_visit(const char *output_path, const char *step_key, const char *first,
		     int (*visit)(void *context, const char *path,
				  const struct rendezvous *rendezvous),
		     void *context)
{
	char path[PATH_MAX], start[PATH_MAX];
	const char *slash = strrchr(output_path, '/');
	const int folder = slash ? (int)(slash - output_path) + 1 : 0;
	const struct dirent *entry;
	int r = 0;

	if (!*step_key || rendezvous_search_block_start(output_path, step_key, start) ||
	    snprintf(path, sizeof(path), "%.*s", folder, output_path) >= (int)sizeof(path))
		return 0;
	DIR *files = opendir(folder ? path : ".");
	while (files && r == 0 && (entry = readdir(files)) != NULL)
		if (is_block(entry->d_name, start + folder) &&
		    snprintf(path, sizeof(path), "%.*s%s", folder, output_path, entry->d_name) <
			    (int)sizeof(path))
			r = visit_file(path, first, visit, context);
	if (files)
		closedir(files);
	return r;
}
