/* What a worker does with a profile: applies frames of data, commits, and saves the nodes' profiles. From
 * worker_pool_give() to done() the profile is the worker's: its owner, the aggregator's thread, touches nothing in it
 * but the queue, and counts on nothing that can change. */
#ifndef PROFILE_TURN_H
#define PROFILE_TURN_H

#include "open_profile.h"

/* A turn applies so many frames at most, and ends with the frame that exceeds so many bytes: other profiles wait for
 * the same threads, and agents for their answers. */
#define PROFILE_TURN_FRAMES 256u
#define PROFILE_TURN_BYTES  (4u << 20)

/* The task's run(). */
void profile_turn_run(struct worker_task *task, struct batch_decoder *decoder);

#endif
