/* Sums of leaves by the program's own line: of each stack the innermost frame with a number that is neither a
 * framework's, CUDA's, NCCL's or the kernel's nor a mark in brackets; without numbers the innermost such frame. Used by
 * one thread. */
#ifndef HOST_LINES_H
#define HOST_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "host_callers.h"

#include "report/model/report_tree.h"

struct host_line {
	uint32_t name; /* index into the tree's strings: "train.py:step:88" */
	/* the name; of a part, and of a helper's line (host_callers.h), its caller, too:
	 * "train.py:step:88 > ops.py:launch:3" */
	const char *text;
	uint64_t count, ns;
};

struct host_lines {
	struct host_line *lines; /* owns; by time, the longest first, then by text */
	uint32_t nr_lines;
	uint64_t ns;  /* of all leaves that were wanted, with those of no line */
	char **texts; /* owns; with callers */
	uint32_t nr_texts;
	/* which leaves they sum up, for host_lines_add_callers(); context is borrowed until then */
	host_lines_wanted *wanted;
	const void *context;
};

/* Returns whether a frame that is no framework's may be the program's own, by its name. */
bool host_lines_is_own(const char *name);

/* The program's own frame of a stack, as far as its frames were taken from the inside outward: the first that has a
 * line, else the first. Zeroed: none is known. */
struct host_frame {
	uint32_t node;
	bool is_found, has_line;
};

/* Takes the next frame outward, which is no framework's. Returns whether frames further outward may change it. */
bool host_lines_take(struct host_frame *frame, uint32_t node, const char *name);

/* Returns the string of the program's own frame on the path of a node; 0: there is none. */
uint32_t host_lines_of(const struct report_tree *tree, uint32_t node);

/* Sums up the leaves of one plane (enum report_plane) that wanted (NULL: all) accepts. 0; -ENOMEM: *lines is empty. */
int host_lines_init(struct host_lines *lines, const struct report_tree *tree, uint32_t plane,
		    host_lines_wanted *wanted, const void *context);

/* Finds the callers of helpers among the program's own lines. 0; -ENOMEM: *callers is empty. */
int host_lines_callers_init(struct host_callers *callers, const struct report_tree *tree,
			    uint32_t plane);

/* Names callers of the leaves that are summed up in the texts of lines that stand in helpers (host_callers.h). 0;
 * -ENOMEM: some have none. */
int host_lines_add_callers(struct host_lines *lines, const struct report_tree *tree,
			   uint32_t plane);

/* Does both, and divides the line that has more than half of the time, as a helper does that launches everything.
 * Its parts are by the program's lines that call it. A part that still has more than half goes on outward. The cell has
 * the outermost of these callers that divides, and the line itself. */
int host_lines_init_divided(struct host_lines *lines, const struct report_tree *tree,
			    uint32_t plane, host_lines_wanted *wanted, const void *context);
void host_lines_fini(struct host_lines *lines);

struct host_line_name {
	uint32_t line, caller; /* strings; 0: there is none */
};

/* Tells the same of each leaf of a plane: its line, and the caller that its cell has. names: by leaf, zeroed; those of
 * other planes stay as they are. 0 or -ENOMEM. */
int host_lines_names(const struct report_tree *tree, uint32_t plane, struct host_line_name *names);

#endif
