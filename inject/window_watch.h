/* Keeps the watch over CUPTI's records (activity_watch.h) in step with the capture windows: each window has its own
 * counts. The helper thread alone calls these functions, but for window_watch_lend(); one per process. */
#ifndef WINDOW_WATCH_H
#define WINDOW_WATCH_H

struct cupti_library;
struct definition_writer;
struct record_ring;

/* All are borrowed for good. */
void window_watch_init(struct record_ring *ring, struct definition_writer *definitions,
		       const struct cupti_library *library);

/* Call it after each flush of an open window, within the window's lock. Only then may the watch call CUPTI. */
void window_watch_step(void);

/* Fetches what CUPTI holds of ours, before another user of CUPTI's activity API takes the records. Any thread, outside
 * CUPTI's callbacks. */
void window_watch_lend(void);

/* Tells of a window that another user of CUPTI has ended, and counts the launches without a record. */
void window_watch_hear_of_loss(void);

/* Counts what is missing. Call it after the last, forced flush of an open window, within the window's lock. */
void window_watch_finish(void);

/* Counts what is missing after the last window has ended. Does not call CUPTI. */
void window_watch_finish_late(void);

#endif
