#include "text_wrap.h"

#include <string.h>

#include "report/names/text_width.h"

/* Returns the bytes of the line that fit, up to a blank or the line's end; a first word that is too long fits. */
static size_t fitting(const char *line, size_t size, uint32_t columns)
{
	size_t at = 0, fits = 0;
	uint32_t used = 0, width;

	at = strspn(line, " ");
	used = (uint32_t)at;
	while (at < size) {
		size_t bytes = text_width_next(line + at, &width);

		if (line[at] == ' ')
			fits = at;
		if (used + width > columns && fits)
			return fits;
		used += width;
		at += bytes ? bytes : 1;
	}
	return used <= columns || !fits ? size : fits;
}

static void write_line(FILE *out, const char *line, size_t size, uint32_t columns)
{
	const uint32_t own = (uint32_t)strspn(line, " ");
	const uint32_t indent = own + TEXT_WRAP_INDENT < columns / 2 ? own + TEXT_WRAP_INDENT : 0;
	size_t fits = fitting(line, size, columns);

	fwrite(line, 1, fits, out);
	while (fits < size) {
		line += fits;
		size -= fits;
		while (size && *line == ' ') {
			line++;
			size--;
		}
		if (!size)
			break;
		fits = fitting(line, size, columns - indent);
		fprintf(out, "\n%*s", (int)indent, "");
		fwrite(line, 1, fits, out);
	}
}

void text_wrap_write(FILE *out, const char *text, uint32_t columns)
{
	while (*text) {
		size_t size = strcspn(text, "\n");

		write_line(out, text, size, columns);
		text += size;
		if (*text == '\n')
			fputc(*text++, out);
	}
}
