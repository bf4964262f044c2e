#include "json_text.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#define JSON_TEXT_SCHEMA 2

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

void json_text_time(FILE *out, const char *name, uint64_t time_ns)
{
	const time_t seconds = (time_t)(time_ns / 1000000000u);
	char text[48];
	struct tm utc;

	if (time_ns && gmtime_r(&seconds, &utc) && strftime(text, sizeof(text), "%FT%T", &utc))
		fprintf(out, "\"%s\":\"%s.%03" PRIu64 "Z\",", name, text,
			time_ns / 1000000u % 1000u);
	else
		fprintf(out, "\"%s\":null,", name);
}

void json_text_schema(FILE *out)
{
	fprintf(out, "{\"schema\":%d,", JSON_TEXT_SCHEMA);
}

void json_text_begin(FILE *out, const char *title)
{
	json_text_schema(out);
	fputc('\n', out);
	json_text_member(out, "title", title);
	fputc('\n', out);
}
