/* The life of a reader's thread (link_reader.h, telemetry_reader.h, counter_reader.h), which a driver may hold for
 * long: the loop waits for its end for some time alone, and the last of both frees the reader. Part of a reader; the
 * loop and the thread. */
#ifndef READER_LIFE_H
#define READER_LIFE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The lock guards it, and what the reader has of its own. */
struct reader_life {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* by CLOCK_MONOTONIC */
	bool is_running;        /* there is a thread */
	bool is_stopped;        /* the thread reads nothing more */
	bool is_left;           /* the thread frees the reader at its end */
};

void reader_life_init(struct reader_life *life);
void reader_life_fini(struct reader_life *life);

/* The loop, with the lock: starts a thread unless there is one. Returns whether there is one now. */
bool reader_life_start(struct reader_life *life, void *(*run)(void *reader), void *reader);

/* The loop, without the lock: stops the thread, and waits at most wait_ms. Returns whether it has ended. stop() follows
 * unless it has. */
bool reader_life_wait(struct reader_life *life, uint32_t wait_ms);

/* The loop, without the lock: waits, at most wait_ms, until the thread has ended. Returns whether the loop is to free
 * the reader; else the thread does, when it can. */
bool reader_life_stop(struct reader_life *life, uint32_t wait_ms);

/* The thread, with the lock, which it gives back: ends. Returns whether the thread is to free the reader. */
bool reader_life_end(struct reader_life *life);

#endif
