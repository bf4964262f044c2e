#include "timeline_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"

int timeline_ranks_take(void *context, const char *name, const char *value, char **error)
{
	uint8_t **ranks = context;
	const char *at = value;
	char *end;

	free(*ranks);
	*ranks = calloc(TIMELINE_RANKS_MAX, 1);
	if (!*ranks)
		return -ENOMEM;
	do {
		const unsigned long first =
			*at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : TIMELINE_RANKS_MAX;
		unsigned long last = first;

		if (first < TIMELINE_RANKS_MAX && *end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		if (first >= TIMELINE_RANKS_MAX || last >= TIMELINE_RANKS_MAX || last < first ||
		    (*end && *end != ','))
			return error_text_set(
				error, -EINVAL,
				"--%s %s: must be ranks and spans of them, such as 0,8-15", name,
				value);
		memset(*ranks + first, 1, last - first + 1);
		at = *end ? end + 1 : NULL;
	} while (at);
	return 0;
}
