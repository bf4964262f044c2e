/* Decides whether CUPTI can be taken up in the middle of a process that works on GPUs (capture_window.h). */
#ifndef ATTACH_OBSTACLE_H
#define ATTACH_OBSTACLE_H

#include <stdbool.h>

struct definition_writer;

/* Subscribing waits for all GPU work, and no thread can launch meanwhile. Work on one GPU may wait for work that a
 * thread would launch on the next GPU, and then the wait never ends. Returns whether there can be such work. A notice
 * tells it, unless `said`. It calls the driver: never call it inside callbacks. */
bool attach_obstacle_is_there(struct definition_writer *notices, bool said);

#endif
