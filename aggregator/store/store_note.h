/* Tells which parts a profile lacks, so that no later reader takes it for whole. A note has a key, which is the same in
 * all profiles that lack the same part: the part's writer in hexadecimal digits, or the name of its file. Used by one
 * thread. */
#ifndef STORE_NOTE_H
#define STORE_NOTE_H

#include <stdbool.h>

#include "database.h"
#include "store_schema.h"

#define STORE_NOTE_SIZE 512u /* of a key, and of a text, with the end */

enum store_note_kind {
	STORE_NOTE_DAMAGED, /* it was damaged when several profiles were put into one */
	/* It is a node's round with merged totals (heavy_totals.h). A later round may have them one by one. */
	STORE_NOTE_UNSENT,
	STORE_NOTE_FULL, /* the end of what the writer got found no room (store_life_full()) */
	/* It has a timeline (store_timeline.h) that was not there when several profiles were put into one. */
	STORE_NOTE_TIMELINE,
	STORE_NOTE_KINDS,
};

struct store_note {
	enum store_note_kind kind;
	char key[STORE_NOTE_SIZE];
	/* "node07 (3 of 214 pages)": part and amount; of STORE_NOTE_FULL words of a report */
	char text[STORE_NOTE_SIZE];
};

/* Makes the key of a writer's part. */
void store_note_set_writer(struct store_note *note, const uint8_t writer[static STORE_WRITER_SIZE]);

/* Returns whether the key is a writer's, which then is *writer. */
bool store_note_writer(const struct store_note *note, uint8_t writer[static STORE_WRITER_SIZE]);

/* Writes the name of a profile's first node. 0 or the database's error: then, and if it has none, name is "". */
int store_note_node(struct database *database, char *name, size_t size);

/* Of two notes with one kind and key the lesser text stays. 0 or the database's error. */
int store_note_write(struct database *database, const struct store_note *note);

/* Adds all notes, by kind and key, to an array (base/array.h), whose texts may be any bytes without an end. 0, -ENOMEM,
 * or the database's error. */
int store_note_read(struct database *database, struct store_note **notes, uint32_t *count);

#endif
