#include "counter_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"

int counter_option_take(void *context, const char *name, const char *value, char **error)
{
	struct counter_option *option = context;
	char *end;

	errno = 0;
	const unsigned long number = strtoul(value, &end, 10);
	if (errno || *value < '0' || *value > '9' || strcmp(end, "/s") != 0 ||
	    number < COUNTER_OPTION_LEAST || number > COUNTER_OPTION_MOST)
		return error_text_set(error, -EINVAL,
				      "--%s %s: not a number of samples from 10/s to 10000/s", name,
				      value);
	option->per_second = (uint32_t)number;
	return 0;
}
