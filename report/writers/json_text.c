#include "json_text.h"

#include <inttypes.h>

/* Clean text holds no control characters, so two escapes suffice. */
void json_text_write(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void json_text_write_number(FILE *out, bool known, int64_t number)
{
	if (known)
		fprintf(out, "%" PRId64, number);
	else
		fputs("null", out);
}

void json_text_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\":", name);
	json_text_write(out, text);
	fputc(',', out);
}

void json_text_number(FILE *out, const char *name, bool known, int64_t number)
{
	fprintf(out, "\"%s\":", name);
	json_text_write_number(out, known, number);
	fputc(',', out);
}
