/* Runs a part of this program in a child process, and starts it again when it is killed. Single-threaded. */
#ifndef RESPAWN_H
#define RESPAWN_H

#include <stdbool.h>
#include <stdint.h>

#define RESPAWN_MAX 5u /* starts after the first */

struct respawn_body {
	/* Runs in the child, and returns its exit status; 0: all work is done. round: 0 at first. */
	int (*run)(void *argument, uint32_t round);
	/* Decides in this process whether to start another child; the last one ended with wait_status of waitpid(). It
	 * says so on stderr. */
	bool (*again)(void *argument, uint32_t round, int wait_status);
	void *argument;
};

/* Runs children until one has ended with 0, or again() returns false. Between two starts there is a pause that grows
 * from 0.1 to 1.6 seconds. 0; -ECANCELED: the last child did not end with 0; other -errno: a child could not be
 * started. */
int respawn_run(const struct respawn_body *body);

#endif
