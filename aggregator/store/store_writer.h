/* Writes a collection's changes into the store's tables; part of the store. Single-threaded. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "database.h"

#include "aggregator/profile/collection.h"

struct store_writer;

/* The database is borrowed until destroy. totals_as_blocks: as in store.h. 0, or an error of database.h with *writer
 * NULL. */
int store_writer_create(struct database *database, bool totals_as_blocks,
			struct store_writer **writer);
void store_writer_destroy(struct store_writer *writer); /* accepts NULL */

/* Writes all changes in one transaction, or nothing; or the logged messages alone. The collection is not changed. */
int store_writer_commit(struct store_writer *writer, const struct collection *collection,
			bool messages_alone);

/* Gives tables the form in which they stay after the last commit. 0, or an error: they are complete as they are. */
int store_writer_end(struct store_writer *writer);

/* Returns whether collectives were folded since the last call. */
bool store_writer_take_folded(struct store_writer *writer);

#endif
