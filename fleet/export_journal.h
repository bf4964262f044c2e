/* What of a profile was delivered: a database beside the profile's store. Delivered sums are kept by key, so the next
 * delivery is the difference. A batch is written here, byte for byte, before it is sent, and stays until it is
 * acknowledged. So a killed sender goes on with the same batch. At most one batch is open: what comes meanwhile adds
 * up in the next one. Used by one thread; one process at a time.
 *
 * Checksums of all rows are kept in the same transactions. What does not fit them is refused with -EPROTO, before it is
 * used: words and the open batch by open(), the delivered sums by begin().
 *
 * All functions return 0 or -errno; on error *error, if there is one, is one line, which the caller owns (free()). */
#ifndef EXPORT_JOURNAL_H
#define EXPORT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Behind the path of the store. */
#define EXPORT_JOURNAL_CLICKHOUSE ".export"
#define EXPORT_JOURNAL_PYROSCOPE  ".export-pyroscope"

#define EXPORT_JOURNAL_WORD_MAX 512u /* bytes of a word, with the NUL */

struct export_journal;

/* Opens or makes the journal of the store with this path. suffix: one of those above. -EBUSY: another process has it;
 * -EPROTO, as from all functions that read: the file is damaged. Call export_journal_close() in either case. */
int export_journal_open(const char *store_path, const char *suffix, struct export_journal **journal,
			char **error);
void export_journal_close(struct export_journal *journal); /* accepts NULL */

/* The journal's path. Borrowed until close. */
const char *export_journal_path(const struct export_journal *journal);

/* Words that are kept: "" if there is none. word has EXPORT_JOURNAL_WORD_MAX bytes. */
int export_journal_read(struct export_journal *journal, const char *name, char *word, char **error);
int export_journal_write(struct export_journal *journal, const char *name, const char *word,
			 char **error);

enum export_rows { EXPORT_WORK, EXPORT_LOSSES, EXPORT_ROWS_KINDS };

/* Sums so far. place and work are of export_journal_label(); stack is 0 for no stack. */
struct export_row {
	enum export_rows kind;
	int64_t place, work;
	uint64_t stack;
	uint64_t count, ns, bytes;
};

struct export_batch;

/* A row of a batch: its labels, and by how much its sums have grown. */
struct export_delta {
	const char *place, *work; /* borrowed until row() returns; without a NUL */
	uint32_t place_size, work_size;
	uint64_t stack;
	uint32_t leaf; /* as of export_journal_add() */
	int64_t count, ns, bytes;
};

/* Writes batches for one destination. Its functions return 0 or -errno. */
struct export_maker {
	void *context;
	uint32_t rows_max;
	/* The destination takes nothing negative, and a batch is of one place. If work gets another name, the old
	 * name keeps what was delivered of it, and the new one lacks it: sums of a place and account stay exact. */
	bool only_grows;
	int (*begin)(void *context, uint64_t number, enum export_rows kind);
	int (*row)(void *context, const struct export_delta *delta);
	/* A stack of the batch that was in none before; NULL: nobody needs it. */
	int (*stack)(void *context, uint64_t stack, uint32_t leaf);
	/* Moves the rows into the batch's stacks and body; follows begin() in any case. -E2BIG: half as many rows
	 * are worth a try. */
	int (*end)(void *context, struct export_batch *batch);
};

/* A round: begin; label and add, several times; end. Sums of equal keys add up. leaf: any number, by which the maker
 * knows the row; that of the first row of a key counts. */
int export_journal_begin(struct export_journal *journal, char **error);
int export_journal_label(struct export_journal *journal, const char *text, size_t size, int64_t *id,
			 char **error);
int export_journal_add(struct export_journal *journal, const struct export_row *row, uint32_t leaf,
		       char **error);
/* *rows: how many differ from what was delivered. *fell: work is withheld, which *rows does not count: only losses that
 * grew are left. That is so if the sum of an account fell: all work with one first member in its label, which no other
 * name or place of work changes. is_damaged: that is so if any sum of work fell. only_grows: as of the maker. */
int export_journal_end(struct export_journal *journal, bool is_damaged, bool only_grows,
		       uint64_t *rows, bool *fell, char **error);

struct export_batch { /* zeroed: none */
	enum export_rows kind;
	uint64_t number, rows;
	bool was_tried;
	void *stacks, *body; /* own; bytes of the destination; stacks NULL: there are no new ones */
	size_t stacks_size, body_size;
};

/* Reads the open batch; number 0: there is none. Call export_batch_fini() in either case. */
int export_journal_pending(struct export_journal *journal, struct export_batch *batch,
			   char **error);
void export_batch_fini(struct export_batch *batch);

/* Makes the next batch of the round that has ended; *made: false if nothing is left. -E2BIG: of the maker's end(). */
int export_journal_make(struct export_journal *journal, const struct export_maker *maker,
			bool *made, char **error);

/* Notes that the open batch is about to be sent, or that it was delivered. */
int export_journal_try(struct export_journal *journal, char **error);
int export_journal_delivered(struct export_journal *journal, char **error);

/* Forgets the open batch, which is known not to be delivered: what it had is in the next round again. */
int export_journal_forget(struct export_journal *journal, char **error);

#endif
