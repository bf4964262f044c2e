/* The work that waits for the symbolizer's workers: files to be opened, names to be found in them, and tasks of other
 * parts of the agent. Each user has a line. One worker at a time serves a line, and lines take turns, so that no user
 * waits for another user's files. Root and our own user have one line together. The last worker is kept for that line,
 * so that the other users together cannot make root wait. The caller holds a lock for each call. */
#ifndef SYMBOL_QUEUE_H
#define SYMBOL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Lines that are served at once, each by a worker of its own. */
#define SYMBOL_QUEUE_SERVED_MAX 32u

struct agent_task;
struct symbol_line;
struct symbolizer_module;

struct symbol_request {
	uint32_t frame_id, module_id;
	uint64_t vaddr;
	uint64_t number; /* a later request has a higher one */
};

/* Embedded; zeroed memory: nothing waits. */
struct symbol_queue {
	struct symbol_line *first; /* owns; the first line has waited the longest */
	uid_t *owners;             /* owns; owners[module_id], for ids below nr_owners */
	uint32_t nr_owners;
	uint32_t nr_served; /* lines that are served, not counting root's */
};

/* Ends the tasks that wait: nobody wants them. */
void symbol_queue_fini(struct symbol_queue *queue);

/* Copies the place and its path. A module's places are opened before a name in it is looked for. Returns 0 or
 * -ENOMEM. */
int symbol_queue_add_place(struct symbol_queue *queue, const struct symbolizer_module *place);

/* Puts the request into the line of the module's owner, or into root's if no place of the module is known. Returns 0 or
 * -ENOMEM. */
int symbol_queue_add_request(struct symbol_queue *queue, const struct symbol_request *request);

/* Puts the task into the user's line. Returns 0 or -ENOMEM. */
int symbol_queue_add_task(struct symbol_queue *queue, uid_t user, struct agent_task *task);

/* Returns whether symbol_queue_take() has a line to give. */
bool symbol_queue_waits(const struct symbol_queue *queue);

/* Returns the first line with waiting work that no worker serves; the caller serves it from now on. NULL: no such line.
 * Once SYMBOL_QUEUE_SERVED_MAX - 1 lines of other users are served, only root's line is given. */
struct symbol_line *symbol_queue_take(struct symbol_queue *queue);

/* Takes the line back. The work that is left in it waits behind all other lines. */
void symbol_queue_give(struct symbol_queue *queue, struct symbol_line *line);

/* Take the next place, and the next request, out of a line that the caller serves. They return false if none waits. The
 * caller owns place->path: free(). */
bool symbol_line_place(struct symbol_line *line, struct symbolizer_module *place);
bool symbol_line_request(struct symbol_line *line, struct symbol_request *request);

/* Takes the next task out of a line that the caller serves. Returns NULL if none waits, or if it is the turn of a name,
 * because tasks and names alternate. */
struct agent_task *symbol_line_task(struct symbol_line *line);

#endif
