/* Why CUPTI can't be taken up in the middle of a process that works on GPUs already (capture_window.h). */
#ifndef ATTACH_OBSTACLE_H
#define ATTACH_OBSTACLE_H

#include <stdbool.h>

struct definition_writer;

/* To subscribe waits for all GPU work, and meanwhile no thread can launch. Work on one GPU may wait for work that a
 * thread would launch on the next, and then the wait never ends. Returns whether there can be such work. Says so in a
 * notice, unless `said`. It calls the driver: never call it inside callbacks. */
bool attach_obstacle_is_there(struct definition_writer *notices, bool said);

#endif
