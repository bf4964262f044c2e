/* The strings of one agent, numbered from 1 without gaps in the order of arrival. Equal strings get one id while
 * remembered. A text is kept until it was sent; after that only its key is. Only the agent loop calls it. */
#ifndef STRING_DICTIONARY_H
#define STRING_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define STRING_NONE 0u /* the id of the empty string, and of a missing one */

struct id_memory;
struct string_dictionary;

/* NULL: out of memory. string_dictionary_destroy() accepts NULL. */
struct string_dictionary *string_dictionary_create(void);
void string_dictionary_destroy(struct string_dictionary *strings);

/* Copies size bytes, cut at the first NUL and at WIRE_STRING_MAX. The empty string is STRING_NONE. Returns 0; -ENOSPC:
 * there are WIRE_ID_MAX strings; -ENOMEM. On error *string_id is STRING_NONE. */
int string_dictionary_intern(struct string_dictionary *strings, const char *data, size_t size,
			     uint32_t *string_id);

/* Returns the id of a known string, cut in the same way; STRING_NONE: it is empty or not known. */
uint32_t string_dictionary_find(const struct string_dictionary *strings, const char *data,
				size_t size);

uint32_t string_dictionary_count(const struct string_dictionary *strings);

/* Returns the strings from first_id on, in order. None of them may have been sent. The array is borrowed until the next
 * intern, the texts until string_dictionary_sent(). */
const struct message_text *string_dictionary_texts(const struct string_dictionary *strings,
						   uint32_t first_id);

/* Returns the owner of each of these strings, as in struct message_strings. Borrowed until the next intern. */
const uint32_t *string_dictionary_owners(const struct string_dictionary *strings,
					 uint32_t first_id);

/* From now on the strings in memory are the known strings. memory is borrowed until the next call. NULL: the
 * dictionary's own memory. Equal strings in two memories may have two ids. New strings belong to owner from now on. */
void string_dictionary_use(struct string_dictionary *strings, struct id_memory *memory,
			   uint32_t owner);

/* Frees the texts after all were sent. Ids stay valid. */
void string_dictionary_sent(struct string_dictionary *strings);

/* Returns the bytes that the dictionary takes, without the callers' memories. */
uint64_t string_dictionary_bytes(const struct string_dictionary *strings);

/* Forgets the strings in the dictionary's own memory. Their ids stay valid for the receiver; an equal string gets a new
 * id from now on. */
void string_dictionary_forget(struct string_dictionary *strings);

#endif
