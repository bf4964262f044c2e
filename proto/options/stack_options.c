#include "stack_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const names[STACK_MODES] = {
	[STACK_MODE_LEAF] = "leaf",     [STACK_MODE_FULL] = "full", [STACK_MODE_NATIVE] = "native",
	[STACK_MODE_PYTHON] = "python", [STACK_MODE_NONE] = "none",
};

static const char *mode_name(enum stack_mode mode)
{
	return mode < STACK_MODES ? names[mode] : "";
}

static bool find_mode(const char *text, size_t size, enum stack_mode *mode)
{
	for (uint32_t i = 0; i < STACK_MODES; i++) {
		if (strlen(names[i]) != size || strncmp(names[i], text, size) != 0)
			continue;
		*mode = (enum stack_mode)i;
		return true;
	}
	return false;
}

/* Reads a decimal number after a comma, up to the next comma or the end, and moves *text behind it. The number is
 * capped, so that no input wraps it. */
static bool take_number(const char **text, uint32_t *number)
{
	const char *digit = *text + 1;

	*number = 0;
	for (; *digit >= '0' && *digit <= '9'; digit++)
		if (*number <= RECORD_STACK_DEPTH)
			*number = *number * 10 + (uint32_t)(*digit - '0');
	bool some = digit > *text + 1 && (*digit == ',' || *digit == '\0');
	*text = digit;
	return some;
}

static int parse(const char *text, struct stack_options *options)
{
	size_t size = strcspn(text, ",");

	if (!find_mode(text, size, &options->mode))
		return -EINVAL;
	text += size;
	if (*text == ',' && !take_number(&text, &options->native_depth))
		return -EINVAL;
	if (*text == ',' && !take_number(&text, &options->python_depth))
		return -EINVAL;
	if (*text != '\0')
		return -EINVAL;
	if (options->native_depth == 0 || options->python_depth == 0 ||
	    options->native_depth + options->python_depth > STACK_OPTIONS_DEPTH_MAX)
		return -ERANGE;
	return 0;
}

int stack_options_parse(const char *text, struct stack_options *options)
{
	*options = STACK_OPTIONS_DEFAULT;
	if (!text || *text == '\0')
		return 0;

	struct stack_options read = *options;
	int error = parse(text, &read);
	if (error == 0)
		*options = read;
	return error;
}

void stack_options_format(const struct stack_options *options, char *text)
{
	snprintf(text, STACK_OPTIONS_SIZE, "%s,%u,%u", mode_name(options->mode),
		 options->native_depth, options->python_depth);
}
