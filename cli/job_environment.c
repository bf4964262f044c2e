#include "job_environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/handshake.h"

#define NR_OWN (sizeof(((struct job_environment *)0)->own) / sizeof(char *))

extern char **environ;

static bool is_same_variable(const char *a, const char *b)
{
	size_t size = strcspn(a, "=");

	return strncmp(a, b, size + 1) == 0;
}

static bool is_replaced(const struct job_environment *environment, const char *variable)
{
	for (size_t i = 0; i < NR_OWN; i++)
		if (environment->own[i] && is_same_variable(environment->own[i], variable))
			return true;
	return false;
}

static char *set(const char *name, const char *value)
{
	char *variable;

	return asprintf(&variable, "%s=%s", name, value) < 0 ? NULL : variable;
}

int job_environment_init(struct job_environment *environment, const char *inject_path,
			 const char *socket_path, const struct stack_options *stacks,
			 enum graph_mode graphs)
{
	char text[STACK_OPTIONS_SIZE];
	size_t nr = 0, kept = 0;

	while (environ[nr])
		nr++;
	stack_options_format(stacks, text);
	environment->list = calloc(nr + NR_OWN + 1, sizeof(*environment->list));
	environment->own[0] = inject_path ? set(JOB_ENVIRONMENT_INJECTION, inject_path) : NULL;
	environment->own[1] = set(HANDSHAKE_SOCKET_ENV, socket_path);
	environment->own[2] = set(STACK_OPTIONS_ENV, text);
	environment->own[3] = set(GRAPH_MODE_ENV, graph_mode_name(graphs));
	if (!environment->list || (inject_path && !environment->own[0]) || !environment->own[1] ||
	    !environment->own[2] || !environment->own[3]) {
		job_environment_fini(environment);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++)
		if (!is_replaced(environment, environ[i]))
			environment->list[kept++] = environ[i];
	for (size_t i = 0; i < NR_OWN; i++)
		if (environment->own[i])
			environment->list[kept++] = environment->own[i];
	return 0;
}

void job_environment_fini(struct job_environment *environment)
{
	free(environment->list);
	for (size_t i = 0; i < NR_OWN; i++)
		free(environment->own[i]);
	*environment = (struct job_environment){0};
}
