#include "config_line.h"

#include <stddef.h>
#include <string.h>

void config_line_cut_comment(char *line)
{
	for (char *at = line; (at = strchr(at, '#')) != NULL; at++) {
		if (at > line && !strchr(CONFIG_LINE_BLANKS, at[-1]))
			continue;
		*at = '\0';
		return;
	}
}

void config_line_cut_blanks(char *text)
{
	size_t size = strlen(text);

	while (size && strchr(CONFIG_LINE_BLANKS, text[size - 1]))
		text[--size] = '\0';
}
