/* Encodes messages of Protocol Buffers, field by field, into a growing buffer.
 *
 * Debian's protobuf-c is not used: it packs a message that is in memory as a whole. A pprof file has up to two million
 * samples. Each would need structures and arrays of its own, some hundred bytes, at the same time. Here a sample is
 * written and forgotten. The encoding is two rules: variable-length numbers, and fields with a length. Tests read the
 * result with decoders of others.
 *
 * One buffer is used by one thread. */
#ifndef PROTOBUF_TEXT_H
#define PROTOBUF_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed memory is an empty message. */
struct protobuf_text {
	uint8_t *bytes; /* owns */
	uint32_t size, room;
	bool failed; /* a field found no memory; later fields change nothing */
};

void protobuf_text_fini(struct protobuf_text *text);

/* Forgets all fields and keeps the memory. */
void protobuf_text_clear(struct protobuf_text *text);

/* Appends a number; 0, which is the default, is left out. */
void protobuf_text_number(struct protobuf_text *text, uint32_t field, uint64_t number);

/* Appends a number, 0 included. */
void protobuf_text_whole(struct protobuf_text *text, uint32_t field, uint64_t number);

/* Appends a number in eight bytes. */
void protobuf_text_fixed(struct protobuf_text *text, uint32_t field, uint64_t number);

/* Appends bytes with their length, such as a string or another message. */
void protobuf_text_bytes(struct protobuf_text *text, uint32_t field, const void *bytes,
			 uint32_t size);

/* Appends numbers as one packed field, zeros included. */
void protobuf_text_numbers(struct protobuf_text *text, uint32_t field, const uint64_t *numbers,
			   uint32_t nr);

/* Writes the message as a field of the message that out holds, and clears it. 0; -ENOMEM: a field found no memory. A
 * write that failed is left to out. */
int protobuf_text_write(struct protobuf_text *text, uint32_t field, FILE *out);

#endif
