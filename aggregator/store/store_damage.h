/* Tells which parts of a profile were damaged when several were put into one, so that no later reader takes it for
 * whole. A note has a key, which is the same in all profiles that lack the same part: the part's writer in hexadecimal
 * digits, or the name of its file. Used by one thread. */
#ifndef STORE_DAMAGE_H
#define STORE_DAMAGE_H

#include <stdbool.h>

#include "database.h"

#define STORE_DAMAGE_SIZE 512u /* of a key, and of a text, with the end */

/* How the text of a note ends whose part is sound, but was too large to be sent at once: a node's part of a profile
 * that is still written, or whose node was lost. */
#define STORE_DAMAGE_UNSENT " not sent yet)"

struct store_damage {
	char key[STORE_DAMAGE_SIZE];
	char text[STORE_DAMAGE_SIZE]; /* "node07 (3 of 214 pages)": part and amount */
};

/* Returns whether the note ends so. */
bool store_damage_is_unsent(const struct store_damage *damage);

/* Of two notes with one key the lesser text stays. 0 or the database's error. */
int store_damage_write(struct database *database, const struct store_damage *damage);

/* Adds all notes, by key, to an array (base/array.h), whose texts may be any bytes without an end. 0, -ENOMEM, or the
 * database's error. */
int store_damage_read(struct database *database, struct store_damage **damages, uint32_t *count);

#endif
