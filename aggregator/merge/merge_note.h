/* What the profiles lack that are merged. Used by one thread. */
#ifndef MERGE_NOTE_H
#define MERGE_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "merge_choice.h"
#include "merge_source.h"

#include "aggregator/store/database.h"
#include "aggregator/store/store_note.h"

struct merge_note {
	uint32_t profile;  /* where it is, from 0 */
	bool is_all_of_it; /* the note is of the whole profile, of whichever writer */
	bool has_writer;
	uint8_t writer[STORE_WRITER_SIZE]; /* whose part it is, if the key tells */
	struct store_note note;
};

/* Zeroed: empty. */
struct merge_notes {
	struct merge_note *notes; /* owns */
	uint32_t count;
};

void merge_notes_fini(struct merge_notes *notes);

/* Adds the notes in a profile, and one each if its source lacks pages, or its timeline. 0, -ENOMEM, or the database's
 * error. */
int merge_notes_add(struct merge_notes *notes, uint32_t profile, const struct merge_source *source,
		    struct database *database);

/* Adds a note of a source that is left out. database: the part of it that could be opened; NULL: none. 0 or -ENOMEM. */
int merge_notes_add_whole(struct merge_notes *notes, uint32_t profile,
			  const struct merge_source *source, struct database *database);

/* Marks the candidates whose profile lacks something of their writer. */
void merge_notes_mark(const struct merge_notes *notes, struct merge_choice *choice);

/* Writes the notes into the merged profile. A note is left out if another profile has the same writer, is chosen, and
 * has no such note. 0 or the database's error. */
int merge_notes_write(const struct merge_notes *notes, const struct merge_choice *choice,
		      struct database *database);

#endif
