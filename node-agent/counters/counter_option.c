#include "counter_option.h"

#include <errno.h>

#include "base/error_text.h"
#include "proto/options/rate_option.h"

int counter_option_take(void *context, const char *name, const char *value, char **error)
{
	struct counter_option *option = context;

	if (rate_option_parse(value, COUNTER_OPTION_LEAST, COUNTER_OPTION_MOST,
			      &option->per_second) == 0)
		return 0;
	return error_text_set(error, -EINVAL,
			      "--%s %s: not a number of samples from 10/s to 10000/s", name, value);
}
