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

#define EXPORT_JOURNAL_SUFFIX   ".export" /* behind the path of the store */
#define EXPORT_JOURNAL_WORD_MAX 512u      /* bytes of a word, with the NUL */

struct export_journal;

/* Opens or makes the journal of the store with this path. -EBUSY: another process has it; -EPROTO, as from all
 * functions that read: the file is damaged. Call export_journal_close() in either case. */
int export_journal_open(const char *store_path, struct export_journal **journal, char **error);
void export_journal_close(struct export_journal *journal); /* accepts NULL */

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

/* A round: begin; label and add, several times; end. Sums of equal keys add up. node: any number, by which
 * export_stack_write knows the stack. */
int export_journal_begin(struct export_journal *journal, char **error);
int export_journal_label(struct export_journal *journal, const char *text, size_t size, int64_t *id,
			 char **error);
int export_journal_add(struct export_journal *journal, const struct export_row *row, uint32_t node,
		       char **error);
/* *rows: how many differ from what was delivered. *fell: work is withheld, which *rows does not count: only losses that
 * grew are left. That is so if the sum of an account fell: all work with one first member in its label, which no other
 * name or place of work changes. is_damaged: that is so if any sum of work fell. */
int export_journal_end(struct export_journal *journal, bool is_damaged, uint64_t *rows, bool *fell,
		       char **error);

/* Writes members of a JSON object that tell of a stack, such as "frames":[…]. 0 or -errno. */
typedef int export_stack_write(void *context, FILE *out, uint32_t node);

struct export_batch { /* zeroed: none */
	enum export_rows kind;
	uint64_t number, rows;
	bool was_tried;
	void *stacks, *body; /* own; compressed rows of JSON; stacks NULL: there are no new ones */
	size_t stacks_size, body_size;
};

/* Reads the open batch; number 0: there is none. Call export_batch_fini() in either case. */
int export_journal_pending(struct export_journal *journal, struct export_batch *batch,
			   char **error);
void export_batch_fini(struct export_batch *batch);

/* Makes the next batch of the round that has ended; *made: false if nothing is left. head: members that each row begins
 * with, with a comma behind; the batch's number comes behind it. */
int export_journal_make(struct export_journal *journal, const char *head, uint32_t rows_max,
			export_stack_write *write, void *context, bool *made, char **error);

/* Notes that the open batch is about to be sent, or that it was delivered. */
int export_journal_try(struct export_journal *journal, char **error);
int export_journal_delivered(struct export_journal *journal, char **error);

#endif
