#include "html_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REPLACEMENT_CHARACTER "\xef\xbf\xbd"

/* Returns the bytes of the well-formed UTF-8 sequence at text, never beyond its NUL; 0: there is none. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length;
	unsigned char low = 0x80, high = 0xbf;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0; /* shorter forms exist */
	else if (text[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (text[0] == 0xf0)
		low = 0x90; /* shorter forms exist */
	else if (text[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return length;
}

/* U+2028 and U+2029 end a line in older scripts. */
static bool is_line_separator(const unsigned char *text, size_t length)
{
	return length == 3 && text[0] == 0xe2 && text[1] == 0x80 &&
	       (text[2] == 0xa8 || text[2] == 0xa9);
}

void html_text_json(FILE *out, const char *string)
{
	const unsigned char *text = (const unsigned char *)(string ? string : "");

	putc('"', out);
	while (*text) {
		size_t length = utf8_length(text);

		if (length == 0)
			fputs("\\ufffd", out);
		else if (is_line_separator(text, length))
			fprintf(out, "\\u20%02x", text[2] & 0x7fu);
		else if (*text < 0x20 || *text == 0x7f || strchr("<>&", *text))
			fprintf(out, "\\u%04x", *text);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
	putc('"', out);
}

void html_text_write(FILE *out, const char *string)
{
	const unsigned char *text = (const unsigned char *)(string ? string : "");

	while (*text) {
		size_t length = utf8_length(text);

		if (length == 0)
			fputs(REPLACEMENT_CHARACTER, out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if (*text < 0x20 || *text == 0x7f)
			putc(' ', out);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
}
