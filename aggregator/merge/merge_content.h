/* What makes a thing of a profile itself: some numbers, which are compared one after the other. Ids among them name
 * other things of the same profile. A string is its bytes. Pure. */
#ifndef MERGE_CONTENT_H
#define MERGE_CONTENT_H

#include <stdint.h>

#include "merge_map.h"

#define MERGE_WORDS_MAX 7u
#define MERGE_PLAIN     MERGE_KINDS /* a number that is no id */

struct merge_content {
	uint64_t words[MERGE_WORDS_MAX];
};

struct merge_content_kind {
	uint32_t nr_words;                    /* 0: bytes */
	unsigned char words[MERGE_WORDS_MAX]; /* enum merge_kind, or MERGE_PLAIN */
};

extern const struct merge_content_kind merge_content_kinds[MERGE_KINDS];

/* 8 bytes as a number, so that numbers order as the bytes do. Missing ones are 0. */
uint64_t merge_content_word(const uint8_t *bytes, uint32_t size, uint32_t word);

/* Puts mapped ids in place of the ids. */
void merge_content_translate(struct merge_content *content, enum merge_kind kind,
			     const struct merge_map *map);

/* Below, at or above 0, as of strcmp(). */
int merge_content_compare(const struct merge_content *a, const struct merge_content *b,
			  enum merge_kind kind);

#endif
