#include "markdown_text.h"

#include <string.h>

void markdown_text_write(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]<>&|~#@", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

void markdown_text_code(FILE *out, const char *text)
{
	fputc('`', out);
	for (; *text; text++)
		if (*text == '|')
			fputs("\\|", out);
		else
			fputc(*text == '`' ? '\'' : *text, out);
	fputc('`', out);
}
