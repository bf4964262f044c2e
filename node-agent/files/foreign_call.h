/* Makes calls that wait for a file system which may never answer: one of a stopped server, or a user's own. A separate
 * thread, called a hand, makes each call. The caller waits only as long as the hand makes progress. A hand without
 * progress is left behind, with everything that the call owns, until its file system answers or the process ends.
 *
 * A user can make file systems that never answer, whose numbers and paths may equal those of others. So the process has
 * one set of hands, and each user may leave behind only a share of them (fair_shares.h). A hand keeps the rights of the
 * caller that it was started for, and later serves any caller: all callers must have the same rights. Any thread. */
#ifndef FOREIGN_CALL_H
#define FOREIGN_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Limit of hands that users may leave behind; beyond it no further call is made for them. Root and our own user have as
 * many again, so that other users cannot take theirs. */
#define FOREIGN_CALLS_LEFT_MAX 32u
#define FOREIGN_CALL_LINE_MAX  320u
/* time between looks at the hand; a shorter wait costs no more than the call itself */
#define FOREIGN_CALL_LOOK_MS 2u

struct foreign_call {
	/* The hand calls it. It must touch nothing that can vanish while the call is left behind. */
	void (*run)(struct foreign_call *call);
	/* For a call that was left behind, the hand calls it after run(). It decides what becomes of the call; the hand
	 * does not touch the call again. */
	void (*returned)(struct foreign_call *call);
	/* the owner of the process that names the file, and so decides which file system it is */
	uid_t user;
	uint64_t device; /* the file system's st_dev, or another number for it; 0: not known */
	/* for the log line about a file system that hangs; borrowed until foreign_call_make() returns */
	const char *path;
};

/* Limits how long a caller waits. */
struct foreign_patience {
	uint32_t limit_ms; /* time in which the hand only slept: it neither ran nor was about to */
	/* Called every FOREIGN_CALL_LOOK_MS. asleep: the hand sleeps at this moment. It returns false to cut both
	 * limits to a quarter. NULL: true. */
	bool (*go_on)(void *context, bool asleep);
	void *context;
	uint32_t all_ms; /* total time asleep: a file system may answer bit by bit. 0: no limit */
};

/* Makes the call.
 *   - 0: the call has returned, and belongs to the caller.
 *   - -ETIMEDOUT: it was left behind.
 *   - -EHOSTDOWN: it was not made. An earlier call of this user on this device is still left behind, or the user has
 *     left too many.
 *   - -EAGAIN: it was not made, for want of a thread. */
int foreign_call_make(struct foreign_call *call, const struct foreign_patience *patience);

/* Returns the number of hands that are left behind at this moment. */
uint32_t foreign_calls_left(void);

/* Writes a log line about a call that was left behind, once, and returns true. false: nothing new. */
bool foreign_calls_take_line(char line[static FOREIGN_CALL_LINE_MAX]);

#endif
