/* Finds out beforehand whether this process may have the descriptors, threads and memory that a recording begins with.
 * ZeroMQ ends the process where it lacks any of them, and the command would not run. Main thread. */
#ifndef RECORDING_ROOM_H
#define RECORDING_ROOM_H

#define RECORDING_ROOM_DESCRIPTORS 64u         /* with the first processes of the command */
#define RECORDING_ROOM_THREADS     7u          /* two are ZeroMQ's */
#define RECORDING_ROOM_BYTES       (16u << 20) /* besides the threads' stacks */

/* Takes all of it at once, and gives it back. 0, or -errno of what it did not get: then *error names the limit and its
 * value, and the caller owns it (free()); it is NULL without memory for the text, and where the result is 0. */
int recording_room_check(char **error);

#endif
