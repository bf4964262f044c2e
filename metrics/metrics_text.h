/* Writes metrics as text that Prometheus reads: OpenMetrics 1.0, or the older text format 0.0.4, which differ in the
 * names of counters' families, in units and in the end. One text is used by one thread. */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRICS_TEXT_OPEN_TYPE  "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_TEXT_PLAIN_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metrics_type {
	METRICS_COUNTER, /* never falls while the program runs */
	METRICS_GAUGE,
};

/* A family of samples, constant. */
struct metrics_family {
	const char *name; /* without "_total"; ends with "_" and the unit, if there is one */
	enum metrics_type type;
	const char *unit; /* "seconds", "bytes"; NULL: none */
	const char *help; /* a sentence */
};

/* The value is any bytes: it is escaped, and what is no UTF-8 is replaced. */
struct metrics_label {
	const char *name;
	const char *value;
};

struct metrics_text;

/* NULL: out of memory. destroy() accepts NULL. */
struct metrics_text *metrics_text_create(bool is_open);
void metrics_text_destroy(struct metrics_text *text);

/* Begins a family: all its samples follow at once. Lack of memory shows in metrics_text_take(). */
void metrics_text_family(struct metrics_text *text, const struct metrics_family *family);

/* Add a sample of the family: a whole number, or nanoseconds, which are written as seconds with nine decimals. Both are
 * exact for all values. */
void metrics_text_number(struct metrics_text *text, const struct metrics_label *labels,
			 uint32_t nr_labels, uint64_t value);
void metrics_text_ns(struct metrics_text *text, const struct metrics_label *labels,
		     uint32_t nr_labels, uint64_t ns);

/* The same for a family with one sample, which has no labels. */
void metrics_text_one(struct metrics_text *text, const struct metrics_family *family,
		      uint64_t value);
void metrics_text_one_ns(struct metrics_text *text, const struct metrics_family *family,
			 uint64_t ns);

/* A family whose one sample is a uint64_t of a struct. */
struct metrics_field {
	struct metrics_family family;
	size_t offset; /* in the struct */
};

/* Writes all fields of a struct. */
void metrics_text_fields(struct metrics_text *text, const struct metrics_field *fields,
			 uint32_t nr_fields, const void *values);

/* The number at this offset of a struct. */
uint64_t metrics_field_value(const void *values, size_t offset);

/* A gauge of nanoseconds since then, 0 if since_ns is 0, which means that nothing waits, or lies ahead. */
void metrics_text_behind(struct metrics_text *text, const struct metrics_family *family,
			 uint64_t since_ns, uint64_t now_ns);

/* Ends the text. 0, and the caller owns *bytes (free()), which end with a zero beyond their size; -ENOMEM. Call it
 * once. */
int metrics_text_take(struct metrics_text *text, char **bytes, size_t *size);

#endif
