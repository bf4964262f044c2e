/* A part of this program in a child process that is started again when it is killed. Single-threaded. */
#ifndef RESPAWN_H
#define RESPAWN_H

#include <stdbool.h>
#include <stdint.h>

#define RESPAWN_MAX 5u /* starts after the first */

struct respawn_body {
	/* In the child; its exit status. 0: all is done. round: 0 at first. */
	int (*run)(void *argument, uint32_t round);
	/* In this process: whether to start another, after one that ended as waitpid() says. Says so on stderr. */
	bool (*again)(void *argument, uint32_t round, int wait_status);
	void *argument;
};

/* Waits until a child has ended with 0, or none is to follow. Between two starts there is a pause that grows, from
 * 0.1 to 1.6 seconds. 0; -ECANCELED: the last one did not end with 0; other -errno: it could not be started. */
int respawn_run(const struct respawn_body *body);

#endif
