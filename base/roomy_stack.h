/* Gives a program the stacks that it is written for where the limit on stacks (`ulimit -s`) is lower. Frames of ours
 * and of libraries are larger than such a limit. The limit itself stays, since it is the job's, too. Main thread. */
#ifndef ROOMY_STACK_H
#define ROOMY_STACK_H

/* Returns run(argc, argv). Under a limit below 1 MiB it runs on a mapped stack of 8 MiB, and new threads get such
 * stacks, too. Without memory for it, it runs on the stack that there is. One call at a time. */
int roomy_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
