/* Small programs on fake CUDA, each of which lives and ends in a way of its own: `process_life NAME`. What they print
 * and how they end is the same in every run. */
#ifndef LIFE_H
#define LIFE_H

#include <cuda_runtime_api.h>

struct life_sample {
	const char *name;
	int (*run)(void); /* the exit status, if it returns */
};

/* Ended by a sample without a name. Names with a hyphen in front are only for other samples. */
extern const struct life_sample life_ends[], life_children[], life_threads[], life_signals[],
	life_limits[];

extern char **life_arguments; /* argv */

/* Launches so many kernels; the first error, or cudaSuccess. */
cudaError_t life_launch(int count);

/* Launches and waits; prints "NAME COUNT RESULT". Safe from any thread. */
void life_work(const char *name, int count);

/* Prints a line at once, whatever becomes of stdio. */
void life_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints how a child ended. */
void life_say_status(const char *who, int status);

/* Replaces this process by another sample. */
void life_become(const char *name) __attribute__((noreturn));

#endif
