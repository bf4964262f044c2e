/* Why CUPTI can't be taken up in the middle of a process that works on GPUs already (capture_window.h). */
#ifndef ATTACH_OBSTACLE_H
#define ATTACH_OBSTACLE_H

#include <stdbool.h>

struct definition_writer;

/* To subscribe waits for all GPU work while no thread can launch: work on one GPU that waits for what a thread would
 * launch on the next is then waited for without end. Whether there can be such; says so in a notice if it is not said
 * already. Not inside callbacks: calls the driver. */
bool attach_obstacle_is_there(struct definition_writer *notices, bool said);

#endif
