/* The pieces of JSON that all writers share: values, and members with the comma behind them, because another member
 * mostly follows. Any thread. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes clean text (clean_text.h) as a string. */
void json_text_write(FILE *out, const char *text);

/* Writes 5, or null if the number is not known. */
void json_text_write_number(FILE *out, bool known, int64_t number);

/* Writes "name":"text", */
void json_text_member(FILE *out, const char *name, const char *text);

/* Writes "name":5, or "name":null, */
void json_text_number(FILE *out, const char *name, bool known, int64_t number);

#endif
