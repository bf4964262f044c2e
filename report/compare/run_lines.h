/* Finds the source line that launches most of each item. Part of run_work; used by one thread. */
#ifndef RUN_LINES_H
#define RUN_LINES_H

struct report_tree;
struct run_work;

/* Sets the lines of all items, which are in the order of their names (by_name). 0 or -ENOMEM. */
int run_lines_find(const struct report_tree *tree, struct run_work *work);

#endif
