/* An agent's life in place of the scenario's: two processes on GPU 5, kernels with gaps, and samples of what threads did
 * in them. Fails the running test on any error. */
#ifndef IDLE_LIFE_H
#define IDLE_LIFE_H

#include <stdint.h>

#include "proto/batch/message.h"
#include "proto/host_sample.h"

#define IDLE_LIFE_OFFSET_NS (-1000000000ll) /* CLOCK_MONOTONIC less CUPTI's clock */

/* String ids. Stacks: 1 main, 2 main;step. */
#define IDLE_LIFE_FUTEX     4u
#define IDLE_LIFE_RUN_QUEUE 5u

struct idle_life_kernel {
	uint64_t start_us, end_us; /* CUPTI's clock, from 1 s on */
	uint32_t tid;
};

/* Drops the scenario's frames, and adds what comes before kernels and samples. */
void idle_life_begin(void);

/* Adds a message. */
void idle_life_add(struct message message);

/* Add kernels of a process, 16 at most, and samples. */
void idle_life_kernels(uint32_t process_id, const struct idle_life_kernel *kernels, uint32_t count);
void idle_life_samples(uint32_t process_id, const struct host_sample *samples, uint32_t count);

/* A sample of 100 us on the CPU, and a wait for a futex. CLOCK_MONOTONIC. */
struct host_sample idle_life_cpu(uint32_t tid, uint64_t time_us, uint32_t stack_id);
struct host_sample idle_life_wait(uint32_t tid, uint64_t start_us, uint64_t end_us);

#endif
