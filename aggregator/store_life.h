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

/* Stores that rest have no descriptor for a mark. Whoever lets them rest has one on the directory above those that the stores are in; it ends
 * likewise. fd: of that directory. */
void store_life_keep(int fd);

/* Whether somebody has one for the store with this path. */
bool store_life_is_kept(const char *path);

/* What is said in the store itself. */
enum store_life {
	STORE_LIFE_OPEN = 0, /* it is, or its writer died */
	STORE_LIFE_CLOSED = 1,
	STORE_LIFE_RESTS = 2, /* until its writer goes on, or dies */
};

/* That it is open, and how many nodes are to take part (0 or less: leave it); or that it is one of the others. 0 or the database's error. */
int store_life_opened(struct database *database, int32_t nr_nodes);
int store_life_left(struct database *database, enum store_life life);

/* Likewise, read. *nr_nodes 0: not known. */
int store_life_read(struct database *database, enum store_life *life, int32_t *nr_nodes);

#endif
