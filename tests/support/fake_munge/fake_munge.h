/* A libmunge whose munged is this process. A test chooses who encodes, and what goes wrong. Any thread. */
#ifndef FAKE_MUNGE_H
#define FAKE_MUNGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Users are of root's realm 1, nothing goes wrong, and no credential was shown yet. */
void fake_munge_reset(void);

void fake_munge_user(uid_t uid);
void fake_munge_realm(
	int realm); /* of credentials that are made; those of another one than 1 are not believed */
void fake_munge_expired(bool is_expired); /* credentials that are made are too old already */
void fake_munge_gone(bool is_gone);       /* munged does not answer */

/* Calls wait until it is off again. Returns when none waits any more, if it is off. */
void fake_munge_hang(bool hangs);

/* Waits until a call waits. */
void fake_munge_await_call(void);

/* How many calls there were. */
uint32_t fake_munge_encoded(void);
uint32_t fake_munge_decoded(void);

#endif
