/* Holds launches while a session of PC sampling ends. cuptiPCSamplingDisable() takes CUPTI's lock and then the
 * driver's; a launch takes them in the other order, so both stand still for ever if they meet. Seen on an H200, CUPTI
 * 13.0. One per process. */
#ifndef LAUNCH_GATE_H
#define LAUNCH_GATE_H

#include <stdbool.h>

/* In the callbacks of a launch, on any thread. enter() waits while the gate is closed, at most for a second, after
 * which it stays open for good. Keep errno. */
void launch_gate_enter(void);
void launch_gate_exit(void);

/* Returns how many launches are under way. */
unsigned int launch_gate_within(void);

/* Closes the gate and waits until no launch is under way, and until no other thread keeps the gate closed. The thread
 * is in no launch. False: one takes too long, or launches were held too long before, and the gate is open. */
bool launch_gate_close(void);
void launch_gate_open(void);

#endif
