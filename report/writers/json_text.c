#include "json_text.h"

#include <math.h>

#define JSON_TEXT_SCHEMA 1

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

void json_text_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\":", name);
	json_text_write(out, text);
	fputc(',', out);
}

void json_text_number(FILE *out, const char *name, int digits, double number)
{
	if (isfinite(number))
		fprintf(out, "\"%s\":%.*g,", name, digits, number);
	else
		fprintf(out, "\"%s\":null,", name);
}

void json_text_begin(FILE *out, const char *title)
{
	fprintf(out, "{\"schema\":%d,\n", JSON_TEXT_SCHEMA);
	json_text_member(out, "title", title);
	fputc('\n', out);
}
