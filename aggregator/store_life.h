/* Whether a store is being written, and how its last writer left it. A reader asks without holding anything up: it takes no lock. Any thread. */
#ifndef STORE_LIFE_H
#define STORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "database.h"

/* The writer's mark on its own descriptor of the store's file; it ends with the descriptor, also when the writer is killed. Where it cannot be
 * had (Linux before 3.15), readers take the store for one that nobody writes. */
void store_life_begin(int fd);

/* Whether a process writes the store: has begun, and not gone. The path is opened and closed, so it must not be one that this process
 * reads or writes by SQLite at the moment. */
bool store_life_is_written(const char *path);

/* What is said of it in the store itself: that it is open, how many nodes are to take part (0 or less: leave it), and that it was closed. 0 or
 * the database's error. */
int store_life_opened(struct database *database, int32_t nr_nodes);
int store_life_closed(struct database *database);

/* Likewise, read. *nr_nodes 0: not known. */
int store_life_read(struct database *database, bool *was_closed, int32_t *nr_nodes);

#endif
