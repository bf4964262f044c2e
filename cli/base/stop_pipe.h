/* Tells a loop of poll(2) that SIGINT, SIGTERM or SIGHUP came, so that it ends in order: a terminal is restored, and a
 * merged copy of a profile removed. Once in a process. */
#ifndef STOP_PIPE_H
#define STOP_PIPE_H

/* Catches these signals, and ignores SIGPIPE. A write that blocks ends. *fd is readable once one came; it stays open.
 * Call it while there is one thread. 0 or -errno. */
int stop_pipe_open(int *fd);

#endif
