/* Which of several profiles tells the newest of each writer. What a writer has written only grows, so the profile with
 * the higher positions has all that the others have, with two exceptions, of which notes tell (store_note.h). It may be
 * damaged. And it may be a node's round whose lightest totals are merged, which an earlier and smaller round had one by
 * one: then the newer sums are taken. Used by one thread. */
#ifndef MERGE_CHOICE_H
#define MERGE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_schema.h"

/* How far a writer took one agent's messages. */
struct merge_position {
	uint8_t epoch[STORE_WRITER_SIZE];
	uint64_t sequence;
};

/* A writer as one profile has it. */
struct merge_candidate {
	uint8_t writer[STORE_WRITER_SIZE];
	uint32_t profile; /* counts from 0 */
	uint32_t id;      /* of the writer, in this profile */
	bool closed, is_chosen;
	bool lacks[STORE_NOTE_KINDS];     /* what the profile lacks of it, by its notes */
	struct merge_position *positions; /* owns; by epoch */
	uint32_t nr_positions;
};

/* Zeroed: empty. */
struct merge_choice {
	struct merge_candidate *candidates; /* owns; by writer after merge_choice_make() */
	uint32_t count;
};

void merge_choice_fini(struct merge_choice *choice);

/* Adds the writers of a profile. 0, -ENOMEM, or the database's error. */
int merge_choice_add(struct merge_choice *choice, uint32_t profile, struct database *database);

/* Chooses one candidate for each writer. 0; -EXDEV: two profiles, *one and *other, went on from the same state, each
 * with data of its own, so that their sum would count their common part twice. */
int merge_choice_make(struct merge_choice *choice, uint32_t *one, uint32_t *other);

/* Returns whether a candidate of the profile is chosen. */
bool merge_choice_has(const struct merge_choice *choice, uint32_t profile);

#endif
