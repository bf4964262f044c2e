#include "job_environment.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static bool is_variable(const char *variable, const char *name)
{
	size_t size = strlen(name);

	return strncmp(variable, name, size) == 0 && variable[size] == '=';
}

int job_environment_init(struct job_environment *environment)
{
	size_t nr = 0;

	*environment = (struct job_environment){0};
	while (environ[nr])
		nr++;
	environment->list = calloc(nr + JOB_ENVIRONMENT_SET_MAX + 1, sizeof(*environment->list));
	if (!environment->list)
		return -ENOMEM;
	memcpy(environment->list, environ, nr * sizeof(*environ));
	environment->nr_list = nr;
	return 0;
}

int job_environment_set(struct job_environment *environment, const char *name, const char *value)
{
	char *variable;
	size_t kept = 0;

	assert(environment->nr_own < JOB_ENVIRONMENT_SET_MAX);
	if (asprintf(&variable, "%s=%s", name, value) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < environment->nr_list; i++)
		if (!is_variable(environment->list[i], name))
			environment->list[kept++] = environment->list[i];
	environment->list[kept++] = variable;
	environment->list[kept] = NULL;
	environment->nr_list = kept;
	environment->own[environment->nr_own++] = variable;
	return 0;
}

void job_environment_fini(struct job_environment *environment)
{
	free(environment->list);
	for (size_t i = 0; i < environment->nr_own; i++)
		free(environment->own[i]);
	*environment = (struct job_environment){0};
}
