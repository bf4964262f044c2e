#include "metrics_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8_text.h"

#include "base/memory_text.h"

#define NS_PER_S 1000000000u

struct metrics_text {
	struct memory_text memory; /* owns */
	bool is_open;
	const struct metrics_family *family;
};

struct metrics_text *metrics_text_create(bool is_open)
{
	struct metrics_text *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->is_open = is_open;
	if (memory_text_open(&text->memory)) {
		free(text);
		return NULL;
	}
	return text;
}

void metrics_text_destroy(struct metrics_text *text)
{
	if (!text)
		return;
	memory_text_drop(&text->memory);
	free(text);
}

/* In OpenMetrics a counter's family lacks the ending that its samples have. */
static const char *family_ending(const struct metrics_text *text)
{
	return text->family->type == METRICS_COUNTER && !text->is_open ? "_total" : "";
}

void metrics_text_family(struct metrics_text *text, const struct metrics_family *family)
{
	text->family = family;
	const char *ending = family_ending(text);

	fprintf(text->memory.out, "# TYPE %s%s %s\n", family->name, ending,
		family->type == METRICS_COUNTER ? "counter" : "gauge");
	if (family->unit && text->is_open)
		fprintf(text->memory.out, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(text->memory.out, "# HELP %s%s %s\n", family->name, ending, family->help);
}

static void put_value(FILE *file, const char *value)
{
	const char *at = value;

	while (*at) {
		const size_t size = utf8_text_next(at);

		if (size == 0)
			fputs(UTF8_TEXT_REPLACEMENT, file);
		else if (*at == '\n')
			fputs("\\n", file);
		else if (*at == '\\' || *at == '"')
			fprintf(file, "\\%c", *at);
		else
			fwrite(at, 1, size, file);
		at += size ? size : 1;
	}
}

static void put_name(struct metrics_text *text, const struct metrics_label *labels,
		     uint32_t nr_labels)
{
	FILE *file = text->memory.out;

	fprintf(file, "%s%s", text->family->name,
		text->family->type == METRICS_COUNTER ? "_total" : "");
	for (uint32_t i = 0; i < nr_labels; i++) {
		fprintf(file, "%c%s=\"", i ? ',' : '{', labels[i].name);
		put_value(file, labels[i].value);
		fputc('"', file);
	}
	fputs(nr_labels ? "} " : " ", file);
}

void metrics_text_number(struct metrics_text *text, const struct metrics_label *labels,
			 uint32_t nr_labels, uint64_t value)
{
	put_name(text, labels, nr_labels);
	fprintf(text->memory.out, "%" PRIu64 "\n", value);
}

void metrics_text_ns(struct metrics_text *text, const struct metrics_label *labels,
		     uint32_t nr_labels, uint64_t ns)
{
	put_name(text, labels, nr_labels);
	fprintf(text->memory.out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void metrics_text_one(struct metrics_text *text, const struct metrics_family *family,
		      uint64_t value)
{
	metrics_text_family(text, family);
	metrics_text_number(text, NULL, 0, value);
}

void metrics_text_one_ns(struct metrics_text *text, const struct metrics_family *family,
			 uint64_t ns)
{
	metrics_text_family(text, family);
	metrics_text_ns(text, NULL, 0, ns);
}

uint64_t metrics_field_value(const void *values, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)values + offset, sizeof(value));
	return value;
}

void metrics_text_fields(struct metrics_text *text, const struct metrics_field *fields,
			 uint32_t nr_fields, const void *values)
{
	for (uint32_t i = 0; i < nr_fields; i++)
		metrics_text_one(text, &fields[i].family,
				 metrics_field_value(values, fields[i].offset));
}

void metrics_text_behind(struct metrics_text *text, const struct metrics_family *family,
			 uint64_t since_ns, uint64_t now_ns)
{
	metrics_text_one_ns(text, family, since_ns && since_ns < now_ns ? now_ns - since_ns : 0);
}

int metrics_text_take(struct metrics_text *text, char **bytes, size_t *size)
{
	if (text->is_open)
		fputs("# EOF\n", text->memory.out);
	return memory_text_take(&text->memory, bytes, size);
}
