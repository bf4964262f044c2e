/* The process that samples counters of GPUs for an agent: a program of the agent's, started once more. CUDA and CUPTI
 * are loaded here alone. It takes orders (counter_word.h) from standard input, and writes words to COUNTER_WORD_FD. It
 * ends when standard input does, or with the agent. Single-threaded, but for what CUPTI starts. */
#ifndef COUNTER_CHILD_H
#define COUNTER_CHILD_H

#include <stdbool.h>

/* Returns whether a program was started so, before it reads its options. */
bool counter_child_is_asked(int argc, char **argv);

/* Samples. Returns the exit status. */
int counter_child_run(char **argv);

#endif
