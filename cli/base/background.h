/* A part of this program that goes on in a process of its own, apart from the terminal and from who started it. Before
 * any thread is started. */
#ifndef BACKGROUND_H
#define BACKGROUND_H

#define BACKGROUND_KEPT 2

/* Forks; body runs in the new process, which is nobody's child, in a session of its own, with its standard input and
 * output at /dev/null, the error stream of this one and no other descriptor but those in kept (-1: none), until it
 * returns; it says that it is ready by background_ready(ready). Returns 0 then; -ECHILD: it ended before that;
 * -ETIMEDOUT; other -errno. */
int background_start(void (*body)(void *argument, int ready), void *argument,
		     const int kept[static BACKGROUND_KEPT], int timeout_ms);
void background_ready(int ready);

#endif
