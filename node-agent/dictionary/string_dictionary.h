/* Strings of one agent, numbered from 1 without gaps in the order in which they came: equal strings
 * get one id while they are remembered. A text is kept until it was sent, and then its key alone. Single-threaded: only
 * the agent loop calls it. */
#ifndef STRING_DICTIONARY_H
#define STRING_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define STRING_NONE 0u /* the id of the empty string, and of none */

struct id_memory;
struct string_dictionary;

/* NULL: out of memory. string_dictionary_destroy() accepts NULL. */
struct string_dictionary *string_dictionary_create(void);
void string_dictionary_destroy(struct string_dictionary *strings);

/* Copies size bytes, cut at the first NUL and at WIRE_STRING_MAX. The empty string is STRING_NONE.
 * 0; -ENOSPC: WIRE_ID_MAX strings are there; -ENOMEM. On error *string_id is STRING_NONE. */
int string_dictionary_intern(struct string_dictionary *strings, const char *data, size_t size,
			     uint32_t *string_id);

uint32_t string_dictionary_count(const struct string_dictionary *strings);

/* The strings from first_id on, in order, none of which was sent. Borrowed until the next intern; the text itself
 * until string_dictionary_sent(). */
const struct message_text *string_dictionary_texts(const struct string_dictionary *strings,
						   uint32_t first_id);

/* Of each of these texts the owner, as in struct message_strings. Borrowed until the next intern. */
const uint32_t *string_dictionary_owners(const struct string_dictionary *strings,
					 uint32_t first_id);

/* Which strings are known from now on is in memory, borrowed until the next call. NULL: in the dictionary's own. Two
 * memories may give equal strings two ids. What is new from now on is the owner's. */
void string_dictionary_use(struct string_dictionary *strings, struct id_memory *memory,
			   uint32_t owner);

/* All strings were sent: gives their texts back. Ids stay valid. */
void string_dictionary_sent(struct string_dictionary *strings);

/* Bytes that all of it takes, but for memories of others. */
uint64_t string_dictionary_bytes(const struct string_dictionary *strings);

/* Forgets which strings are known in the dictionary's own memory. Ids stay valid where they were sent to; an equal
 * string gets a new one from now on. */
void string_dictionary_forget(struct string_dictionary *strings);

#endif
