/* Tells which line of the program calls a helper: a function with one caller, in which one line has nearly all the
 * time. That caller is nearer to what its reader can change. Used by one thread. */
#ifndef HOST_CALLERS_H
#define HOST_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/report_tree.h"

struct host_caller {
	uint32_t outer; /* its only caller; 0: it has none */
	uint32_t
		asker; /* its only caller on the paths of the leaves that are wanted; 0: it has none there */
	uint32_t inner;   /* the only line that it calls; 0: it has none, and launches itself */
	uint64_t weight;  /* time below it; where none is counted, leaves */
	bool has_line;    /* it has a number */
	bool is_used;     /* it is on the path of a leaf */
	bool has_sibling; /* its function has other lines, too */
	bool is_minor;    /* of its function other lines have more than a twentieth */
};

struct host_callers {
	uint32_t nr;
	struct host_caller *lines; /* owns; by string */
};

typedef int host_lines_wanted(const void *context, const struct report_leaf *leaf);

/* is_own: by string, whether it names a frame of the program's own. Counts the stacks of all leaves of a plane. wanted
 * (NULL: all) accepts the leaves that the lines are told of. 0; -ENOMEM: *callers is empty. */
int host_callers_init(struct host_callers *callers, const struct report_tree *tree, uint32_t plane,
		      const bool *is_own, host_lines_wanted *wanted, const void *context);
void host_callers_fini(struct host_callers *callers);

/* Returns the string of the nearest caller outward whose function has other lines, or, where it has no number, other
 * callees. Of several callers it is the one that the wanted leaves have. 0: the line is in no helper, or there is no
 * such caller. */
uint32_t host_callers_of(const struct host_callers *callers, uint32_t line);

#endif
