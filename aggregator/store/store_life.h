/* Whether a store is being written, and how its last writer left it. A reader asks without holding anything up: it
 * takes no lock. Any thread. */
#ifndef STORE_LIFE_H
#define STORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "database.h"

/* Puts the writer's mark on its own descriptor of the store's file. The mark ends with the descriptor, also when the
 * writer is killed. Where it cannot be had (Linux before 3.15), readers take the store for one that nobody writes. */
void store_life_begin(int fd);

/* Whether a process has begun to write the store and is not gone. The path is opened and closed, so it must not be one
 * that this process reads or writes by SQLite at the moment. */
bool store_life_is_written(const char *path);

/* Puts a mark on the directory above those that stores are in, whose descriptor is fd: stores that rest have no
 * descriptor of their own. It ends as the other mark does. */
void store_life_keep(int fd);

/* Whether somebody has put such a mark above the store with this path. */
bool store_life_is_kept(const char *path);

/* What the store itself says. */
enum store_life {
	STORE_LIFE_OPEN = 0, /* it is written, or its writer died */
	STORE_LIFE_CLOSED = 1,
	STORE_LIFE_RESTS = 2, /* until its writer goes on, or dies */
};

/* Writes into the store that it is open, and how many nodes are to take part (0 or less: as it is); or that its writer
 * has left it. 0 or the database's error. */
int store_life_opened(struct database *database, int32_t nr_nodes);
int store_life_left(struct database *database, enum store_life life);

/* Reads the two. *nr_nodes 0: not known. 0 or the database's error. */
int store_life_read(struct database *database, enum store_life *life, int32_t *nr_nodes);

#endif
