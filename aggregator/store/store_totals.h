/* The store's totals and sums of host samples: rows, and blocks of rows beside them. A commit with many rows appends a
 * block for each process, because to change as many rows of a table takes over ten times as long. The value of a key is
 * the sum of its row and of its entries in all blocks. Part of the store; used by its thread. */
#ifndef STORE_TOTALS_H
#define STORE_TOTALS_H

#include <stdbool.h>

#include "block_code.h"
#include "database.h"
#include "statement_set.h"

#include "aggregator/core/fold_table.h"

/* A commit with fewer rows than this changes rows. */
#define STORE_TOTALS_BLOCK_ROWS 4096u
/* So many blocks of a process become one. */
#define STORE_TOTALS_BLOCKS_MAX 8u
/* A closed store has rows alone if there are no more than this: SQL finds only rows. */
#define STORE_TOTALS_SPREAD_MAX 200000u

/* The column `kind` of the blocks. */
enum store_totals_kind {
	STORE_TOTALS_GPU = 0,
	STORE_TOTALS_SAMPLES = 1,
	STORE_TOTALS_KINDS,
};

extern const char *const store_totals_commands[];

/* Adds the rows of one of the collection's tables to the store. as_blocks: also few rows become blocks. 0; -ENOMEM; or
 * an error of the database. */
int store_totals_write(struct statement_set *set, struct database *database,
		       struct block_code *code, enum store_totals_kind kind,
		       const struct fold_table *table, bool as_blocks);

/* Appends the rows as a block for each process. Errors as above. */
int store_totals_append(struct statement_set *set, struct block_code *code,
			enum store_totals_kind kind, const struct fold_row *rows, uint32_t nr_rows);

/* Reads the store's rows and blocks into an empty table. 0; -ENOMEM; -EPROTO: damaged; or another error of the
 * database. */
int store_totals_read(struct database *database, enum store_totals_kind kind,
		      struct fold_table *table);

/* The two parts of it. A block is as in the store, and borrowed for the call. If take() returns an error, that is
 * returned. */
struct store_totals_block {
	uint32_t process, count, size;
	const uint8_t *bytes;
};

int store_totals_read_rows(struct database *database, enum store_totals_kind kind,
			   struct fold_table *table);
int store_totals_blocks(struct database *database, enum store_totals_kind kind,
			int (*take)(void *context, const struct store_totals_block *block),
			void *context);

/* Decodes the rows of a block; *rows is the caller's, also on error (store_totals_free()). 0; -EPROTO; -ENOMEM. */
int store_totals_decode(enum store_totals_kind kind, const struct store_totals_block *block,
			struct fold_row **rows);
void store_totals_free(const struct store_totals_block *block,
		       struct fold_row *rows); /* accepts NULL */

/* Makes one block of all blocks of a process, where there are at least so many. 0 or an error, as above. */
int store_totals_join(struct statement_set *set, struct database *database, struct block_code *code,
		      enum store_totals_kind kind, uint32_t nr_blocks);

/* Turns all blocks into rows, in the caller's transaction, unless there are more than most totals. 0 or an error, as
 * above. */
int store_totals_spread(struct statement_set *set, struct database *database, int64_t most);

#endif
