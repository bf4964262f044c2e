#include "stack_source.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const names[] = {
	[STACK_SOURCE_GUEST] = "guest",
	[STACK_SOURCE_UPROBE] = "uprobe",
	[STACK_SOURCE_AUTO] = "auto",
};

int stack_source_parse(const char *text, enum stack_source *source)
{
	*source = STACK_SOURCE_GUEST;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*source = (enum stack_source)i;
		return 0;
	}
	return -EINVAL;
}
