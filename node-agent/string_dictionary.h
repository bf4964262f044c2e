/* Strings of one agent, numbered from 1 without gaps in the order in which they came: equal strings
 * get one id. Single-threaded: only the agent loop calls it. */
#ifndef STRING_DICTIONARY_H
#define STRING_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"

#define STRING_NONE 0u /* the id of the empty string, and of none */

struct string_dictionary;

/* NULL: out of memory. string_dictionary_destroy() accepts NULL. */
struct string_dictionary *string_dictionary_create(void);
void string_dictionary_destroy(struct string_dictionary *strings);

/* Copies size bytes, cut at the first NUL and at WIRE_STRING_MAX. The empty string is STRING_NONE.
 * 0; -ENOSPC: WIRE_ID_MAX strings are there; -ENOMEM. On error *string_id is STRING_NONE. */
int string_dictionary_intern(struct string_dictionary *strings, const char *data, size_t size,
			     uint32_t *string_id);

uint32_t string_dictionary_count(const struct string_dictionary *strings);

/* The strings from first_id on, in order, none of which was forgotten. Borrowed until the next intern; the text itself
 * until destroy or forget. */
const struct message_text *string_dictionary_texts(const struct string_dictionary *strings,
						   uint32_t first_id);

/* Bytes that all of it takes. */
uint64_t string_dictionary_bytes(const struct string_dictionary *strings);

/* Gives the memory back, once all strings were sent. Ids that were given stay valid where they were sent to; an equal
 * string gets a new one from now on. Without memory for it nothing changes. */
void string_dictionary_forget(struct string_dictionary *strings);

#endif
