#include "symbol_part.h"

#include <string.h>

bool symbol_part_next(const char **text, const char *end, struct symbol_part *part)
{
	if (*text > end)
		return false;

	const char *line_end = memchr(*text, '\n', (size_t)(end - *text));
	const char *stop = line_end ? line_end : end;
	const char *tab = memchr(*text, '\t', (size_t)(stop - *text));

	*part = (struct symbol_part){.name = *text,
				     .name_size = (size_t)((tab ? tab : stop) - *text)};
	if (tab) {
		part->source = tab + 1;
		part->source_size = (size_t)(stop - tab - 1);
	}
	*text = stop + 1;
	return true;
}
