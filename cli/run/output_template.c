#include "output_template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_SIZE 512

static bool has(const char *template, const char *signs)
{
	for (const char *at = strchr(template, '%'); at && at[1]; at = strchr(at + 2, '%'))
		if (strchr(signs, at[1]))
			return true;
	return false;
}

bool output_template_is_per_process(const char *template)
{
	return has(template, "hrp");
}

static int variable(const char **at, char value[static VALUE_SIZE])
{
	const char *name = *at + 3, *end = (*at)[2] == '{' ? strchr(name, '}') : NULL;
	char copy[VALUE_SIZE];

	if (!end || end == name || (size_t)(end - name) >= sizeof(copy))
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%.*s", (int)(end - name), name);
	const char *text = getenv(copy);
	if (!text || !*text)
		return -ENOENT;
	snprintf(value, VALUE_SIZE, "%s", text);
	*at = end - 1; /* the caller skips two characters */
	return 0;
}

/* Finds the value of the sign at *at ("%j"). *at moves to the end of a longer sign. */
static int find_value(const char **at, const struct job_step *step, bool in_step,
		      char value[static VALUE_SIZE])
{
	switch ((*at)[1]) {
	case '%':
		snprintf(value, VALUE_SIZE, "%%");
		return 0;
	case 'h':
		return gethostname(value, VALUE_SIZE - 1) < 0 ? -errno : 0;
	case 'p':
		snprintf(value, VALUE_SIZE, "%ld", (long)getpid());
		return 0;
	case 'r':
		snprintf(value, VALUE_SIZE, "%d", (int)step->rank);
		return in_step ? 0 : -ENOENT;
	case 'j':
		snprintf(value, VALUE_SIZE, "%s", step->job);
		return *step->job ? 0 : -ENOENT;
	case 'q':
		return variable(at, value);
	default:
		return -EINVAL;
	}
}

int output_template_expand(const char *template, const struct job_step *step, bool in_step,
			   char path[static PATH_MAX], const char **at)
{
	size_t used = 0;

	for (*at = template; **at; (*at)++) {
		char value[VALUE_SIZE] = {**at};

		if (**at == '%') {
			int r = find_value(at, step, in_step, value);

			if (r)
				return r;
			for (char *byte = value; *byte; byte++)
				if ((unsigned char)*byte <= ' ' || *byte == '/' || *byte == 0x7f)
					*byte = '_';
			(*at)++;
		}
		size_t size = strlen(value);
		if (used + size >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(path + used, value, size);
		used += size;
	}
	path[used] = '\0';
	return 0;
}
