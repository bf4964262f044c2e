/* What was damaged of the profiles that are merged. Used by one thread. */
#ifndef MERGE_DAMAGE_H
#define MERGE_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "merge_choice.h"
#include "merge_source.h"

#include "aggregator/store/database.h"
#include "aggregator/store/store_damage.h"

struct merge_damage {
	uint32_t profile;  /* where it is, from 0 */
	bool is_all_of_it; /* the note is of the whole profile, of whichever writer */
	bool has_writer;
	uint8_t writer[STORE_WRITER_SIZE]; /* whose part it is, if the key tells */
	struct store_damage note;
};

/* Zeroed: empty. */
struct merge_damages {
	struct merge_damage *damages; /* owns */
	uint32_t count;
};

void merge_damages_fini(struct merge_damages *damages);

/* Adds the notes in a profile, and one if its source lacks pages. 0, -ENOMEM, or the database's error. */
int merge_damages_add(struct merge_damages *damages, uint32_t profile,
		      const struct merge_source *source, struct database *database);

/* Adds a note of a source that is left out. database: the part of it that could be opened; NULL: none. 0 or -ENOMEM. */
int merge_damages_add_whole(struct merge_damages *damages, uint32_t profile,
			    const struct merge_source *source, struct database *database);

/* Marks the candidates whose profile lacks something of their writer. */
void merge_damages_mark(const struct merge_damages *damages, struct merge_choice *choice);

/* Writes the notes into the merged profile. A note is left out if another profile has the same writer, is chosen, and
 * has no such note. 0 or the database's error. */
int merge_damages_write(const struct merge_damages *damages, const struct merge_choice *choice,
			struct database *database);

#endif
