/* The store's tables, as a merge reads them: which column is an id of what. tests/aggregator/merge/profile_merge_test.c
 * compares the list with the schema, so a new column needs its place here. Constant; any thread. */
#ifndef MERGE_TABLE_H
#define MERGE_TABLE_H

#include <stddef.h>

#define MERGE_COLUMNS_MAX 51u

enum merge_column {
	MERGE_NUMBER = 1, /* the same in the merged profile; NULL stays NULL */
	MERGE_BYTES,      /* the same in the merged profile */
	/* ids. 0 stays 0. A row with a process, an epoch or a writer that is not taken is left out */
	MERGE_STRING,
	MERGE_NODE,
	MERGE_HOST,
	MERGE_DEVICE,
	MERGE_EPOCH,
	MERGE_WRITER,
	MERGE_PROCESS,
	/* an id that counts rows in the order in which they came; in the merged profile the process comes first */
	MERGE_ARRIVAL,
	MERGE_LEVEL,         /* of a timeline: decides of which kind the next two are */
	MERGE_LEVEL_PROCESS, /* a process, or the writer */
	MERGE_LEVEL_DEVICE,  /* CUDA ordinal, or a device */
	MERGE_PENDING_KIND,  /* decides what the block holds */
	MERGE_COUNT,         /* elements of the block that follows */
	MERGE_BLOCK_PENDING, /* encoded by block_code.h, with ids in it */
	MERGE_BLOCK_SAMPLES,
	MERGE_BLOCK_WORK,
	MERGE_IDS_KIND, /* rows of an agent's ids of other things than processes are left out */
	MERGE_BLOCK_PROCESSES,
};

struct merge_table {
	const char *name;
	const char *order; /* of reading; NULL: it makes no difference */
	const char *
		conflict; /* what happens to a row that the merged profile has already; NULL: there is none */
	unsigned char columns[MERGE_COLUMNS_MAX]; /* enum merge_column; 0 ends them */
};

/* Tables whose rows are copied. A row comes after all rows that it refers to. */
extern const struct merge_table merge_tables[];
extern const size_t merge_nr_tables;

/* Tables that are made anew, by content (merge_union.h) or from sums (merge_totals.h), and those that a merged profile
 * has no rows of. NULL ends them. */
extern const char *const merge_other_tables[];

#endif
