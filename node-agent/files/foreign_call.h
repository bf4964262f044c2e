/* Calls that wait for somebody's file system, which may never answer: a server that stopped, or a user's own. Each is
 * made by a thread of its own, a hand, and its caller waits only as long as the hand gets on. A hand that does not is
 * left behind with what the call owns, until its file system answers or the process ends. There is one set of hands for
 * the process, of which users may leave behind their shares (fair_shares.h): a user can make file systems that never
 * answer, and their numbers and paths can be those of others. Hands have the rights of the callers that they were
 * started for, and serve all: callers have the same ones. Any thread. */
#ifndef FOREIGN_CALL_H
#define FOREIGN_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Hands that users leave behind before no further call is made for them. Root and our own user have as many of their
 * own, so that other users cannot take them. */
#define FOREIGN_CALLS_LEFT_MAX 32u
#define FOREIGN_CALL_LINE_MAX  320u
#define FOREIGN_CALL_LOOK_MS   2u /* a wait that is shorter costs no more than the call itself */

struct foreign_call {
	/* Made by the hand. Touches nothing that goes while the call is left behind. */
	void (*run)(struct foreign_call *call);
	/* Of a call that was left behind: by the hand, after run(). The call is then whoever's this says; the hand
	 * does not touch it again. */
	void (*returned)(struct foreign_call *call);
	uid_t user;       /* who decides which file system that is: whose process names the file */
	uint64_t device;  /* of the file system (st_dev), or another number for it; 0: not known */
	const char *path; /* for the line that says what hangs; borrowed until foreign_call_make() returns */
};

/* How long a caller waits. */
struct foreign_patience {
	uint32_t limit_ms;            /* in which the hand only slept: it neither ran nor was about to */
	/* Called every FOREIGN_CALL_LOOK_MS. asleep: the hand sleeps at this moment. false: a quarter of both limits is
	 * enough. NULL: true. */
	bool (*go_on)(void *context, bool asleep);
	void *context;
	uint32_t all_ms; /* in which it slept in all: a file system may answer bit by bit. 0: no limit */
};

/* Makes the call. 0: it has returned, and belongs to the caller; -ETIMEDOUT: it was left behind; -EHOSTDOWN: it was not
 * made, because an earlier one of this user on this device is still left behind, or the user has left too many;
 * -EAGAIN: no thread, not made. */
int foreign_call_make(struct foreign_call *call, const struct foreign_patience *patience);

/* Hands that are left behind at this moment. */
uint32_t foreign_calls_left(void);

/* What was left behind, for the log: true, and a line, once for each file system that hangs; false: nothing new. */
bool foreign_calls_take_line(char line[static FOREIGN_CALL_LINE_MAX]);

#endif
