/* Tells whether a store is being written, and how its last writer left it. A reader takes no lock for this, so it
 * delays no other process. Any thread. */
#ifndef STORE_LIFE_H
#define STORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "database.h"

/* Behind the path of the store: a file by which a reader asks for a newer state of the tables. Whoever writes the store
 * removes it. */
#define STORE_LIFE_WANTED ".wanted"

/* Makes that file. In another user's directory it cannot be made, and the state is up to ten seconds old. */
void store_life_want(const char *path);

/* Returns whether it is there. */
bool store_life_is_wanted(const char *path);

/* Removes it. */
void store_life_want_no_more(const char *path);

/* Puts the writer's mark on its own descriptor of the store's file. The mark ends with the descriptor, also when the
 * writer is killed. Before Linux 3.15 there is no mark, and readers take the store for unwritten. */
void store_life_begin(int fd);

/* Returns whether a process writes the store. It opens and closes the path, so this process must not have the store
 * open by SQLite. */
bool store_life_is_written(const char *path);

/* Puts a mark on the directory (descriptor fd) above the directories of resting stores, which have no descriptor of
 * their own. It ends as the other mark does. */
void store_life_keep(int fd);

/* Returns whether a mark of store_life_keep() is above the store with this path. */
bool store_life_is_kept(const char *path);

/* The state that the store's own table holds. */
enum store_life {
	STORE_LIFE_OPEN = 0, /* the store is written, or its writer died */
	STORE_LIFE_CLOSED = 1,
	STORE_LIFE_RESTS = 2, /* until its writer goes on, or dies */
};

/* Write the store's state: it is open, with the number of nodes that will take part (0: the stored one stays; below 0:
 * the store is the part of one node of so many); or its writer has left it. 0 or the database's error. */
int store_life_opened(struct database *database, int32_t nr_nodes);
int store_life_left(struct database *database, enum store_life life);

/* Raises the number of nodes to at least this, but in the part of one node. 0 or the database's error. */
int store_life_expect(struct database *database, uint32_t nr_nodes);

/* Makes one number of those of several aggregators of one job, in a merged store: each has the number of the whole job,
 * and the nodes came to one of them, or have writers of their own. Without this, numbers of several writers add up. 0
 * or the database's error. */
int store_life_unite(struct database *database);

/* Keeps that at least so many launches and GPU records of the store's end found no room, with the bound in bytes, if
 * there is one (STORE_NOTE_FULL); all 0: none did, which a writer says when it begins. 0 or the database's error. */
int store_life_full(struct database *database, uint64_t launches, uint64_t records,
		    uint64_t bytes_max);

/* Reads the state and the number of nodes (0: not known). 0 or the database's error. */
int store_life_read(struct database *database, enum store_life *life, int32_t *nr_nodes);

/* Counts the aggregators that wrote to the store, each to a part of it, and those that did not close theirs. 0 or the
 * database's error. */
int store_life_writers(struct database *database, int64_t *nr_writers, int64_t *nr_open);

#endif
