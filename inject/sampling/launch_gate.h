/* Holds launches while a session of PC sampling ends. cuptiPCSamplingDisable() takes CUPTI's lock and then the
 * driver's; a launch takes them in the other order, so both stand still for ever if they meet. Seen on an H200, CUPTI
 * 13.0. One per process. */
#ifndef LAUNCH_GATE_H
#define LAUNCH_GATE_H

#include <stdbool.h>

/* In the callbacks of a launch, on any thread. enter() waits while the gate is closed, at most for a second, after
 * which it is broken: it stays open for good. Keep errno. */
void launch_gate_enter(void);
void launch_gate_exit(void);

/* Returns how many launches are under way. */
unsigned int launch_gate_within(void);

/* Returns whether the gate is broken. Any thread. */
bool launch_gate_is_broken(void);

/* Closes the gate and waits until no launch is under way. The thread is in no launch. If another thread keeps the gate
 * closed, it waits for that first, at most for a second, after which the gate is broken, too. False: launches take
 * longer than 0.2 s, or the gate is broken. Then the thread has not closed it. Not a cancellation point; changes
 * errno. */
bool launch_gate_close(void);

/* Only behind a close() that has returned true. */
void launch_gate_open(void);

#endif
