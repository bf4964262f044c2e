/* The pieces of JSON that all writers share: values, and members with the comma behind them, because another member
 * mostly follows. Any thread. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Writes clean text (clean_text.h) as a string. */
void json_text_write(FILE *out, const char *text);

/* Writes "name":"text", */
void json_text_member(FILE *out, const char *name, const char *text);

/* Writes "name":1.25, with so many digits at most; null if the number is not finite. */
void json_text_number(FILE *out, const char *name, int digits, double number);

/* Writes "name":"2026-11-26T12:03:14.250Z", a time of CLOCK_REALTIME; null if it is 0. */
void json_text_time(FILE *out, const char *name, uint64_t time_ns);

/* Begins a document: writes {"schema":2, which counts up when a reader of the old one would go wrong. */
void json_text_schema(FILE *out);

/* Begins the document of a report, with the title. */
void json_text_begin(FILE *out, const char *title);

#endif
