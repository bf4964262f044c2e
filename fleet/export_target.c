#include "export_target.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "proto/trust/key_file.h"

#define TIMEOUT_S   60u
#define SECONDS_MAX 86400u
#define NAME_MAX_   64u

static bool is_url(const char *text)
{
	const char *host = strncmp(text, "http://", 7) == 0    ? text + 7
			   : strncmp(text, "https://", 8) == 0 ? text + 8
							       : "";

	/* Names and passwords have lines of their own. */
	return *host && !strpbrk(host, "@?#/");
}

/* It stands in statements as it is. */
static bool is_name(const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return size <= NAME_MAX_ && !isdigit((unsigned char)*text);
}

static int take_text(char **place, const char *value)
{
	free(*place);
	*place = strdup(value);
	return *place ? 0 : -ENOMEM;
}

static int take_seconds(uint32_t *place, const char *value, const char **why)
{
	char *end;
	unsigned long seconds = strtoul(value, &end, 10);

	*why = "it must be a number of seconds from 1 to 86400";
	if (!isdigit((unsigned char)*value) || *end || seconds == 0 || seconds > SECONDS_MAX)
		return -EINVAL;
	*place = (uint32_t)seconds;
	return 0;
}

static int take_server(struct export_target *target, enum export_kind kind, const char *url,
		       const char **why)
{
	*why = "a file names one server";
	if (target->url)
		return -EINVAL;
	*why = "it must be http://HOST:PORT or https://HOST:PORT";
	if (!is_url(url))
		return -EINVAL;
	target->kind = kind;
	return take_text(&target->url, url);
}

static int take_line(void *context, const char *name, const char *value, const char **why)
{
	struct export_target *target = context;

	*why = "out of memory";
	if (strcmp(name, "clickhouse") == 0)
		return take_server(target, EXPORT_CLICKHOUSE, value, why);
	if (strcmp(name, "pyroscope") == 0)
		return take_server(target, EXPORT_PYROSCOPE, value, why);
	if (strcmp(name, "tenant") == 0)
		return take_text(&target->tenant, value);
	if (strcmp(name, "database") == 0) {
		if (is_name(value))
			return take_text(&target->database, value);
		*why = "it must be a name of letters, digits and _";
		return -EINVAL;
	}
	if (strcmp(name, "user") == 0)
		return take_text(&target->user, value);
	if (strcmp(name, "password") == 0)
		return take_text(&target->password, value);
	if (strcmp(name, "ca") == 0)
		return take_text(&target->ca, value);
	if (strcmp(name, "interval") == 0)
		return take_seconds(&target->interval_s, value, why);
	if (strcmp(name, "timeout") == 0)
		return take_seconds(&target->timeout_s, value, why);
	return -ENOENT;
}

int export_target_read(const char *path, struct export_target *target, char **error)
{
	*target = (struct export_target){.interval_s = EXPORT_TARGET_INTERVAL_S,
					 .timeout_s = TIMEOUT_S};
	int status = key_file_read(path, TRUSTED_FILE_SECRET, take_line, target, error);

	if (!status && !target->url)
		status = error_text_set(
			error, -EINVAL,
			"%s: the line `clickhouse URL` or `pyroscope URL` is missing", path);
	if (!status && target->kind == EXPORT_PYROSCOPE && target->database)
		status = error_text_set(error, -EINVAL, "%s: `database` is of ClickHouse alone",
					path);
	if (!status && target->kind == EXPORT_CLICKHOUSE && target->tenant)
		status = error_text_set(error, -EINVAL, "%s: `tenant` is of Pyroscope alone", path);
	if (!status && target->kind == EXPORT_CLICKHOUSE && !target->database)
		status = take_text(&target->database, "flamegrid");
	return status;
}

void export_target_fini(struct export_target *target)
{
	if (target->password)
		explicit_bzero(target->password, strlen(target->password));
	free(target->url);
	free(target->database);
	free(target->tenant);
	free(target->user);
	free(target->password);
	free(target->ca);
	*target = (struct export_target){0};
}
