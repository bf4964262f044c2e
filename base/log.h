/* Writes messages for people on stderr: one line each, "PROGRAM: text". On the journal's stream "<N>" stands before the
 * line, and tells the journal the level (sd-daemon(3)). A report that a user asked for is not a message. log_begin()
 * and log_set_level() are called while there is one thread; any thread may call the others. */
#ifndef LOG_H
#define LOG_H

#include <limits.h>
#include <stdbool.h>

/* The numbers are those of syslog(3). */
enum log_level {
	LOG_LEVEL_ERROR = 3,   /* the program or its task fails */
	LOG_LEVEL_WARNING = 4, /* something is missing or unsafe, but the program goes on */
	LOG_LEVEL_NOTICE = 5,  /* a user of the command wants to know it */
	LOG_LEVEL_INFO = 6,    /* the administrator of a daemon wants to know it */
	LOG_LEVEL_DEBUG = 7,   /* for finding a fault */
};

/* Bytes of a line with its end; a longer line is cut. A pipe does not split lines of this size. */
#define LOG_LINE_MAX PIPE_BUF

/* Sets the program's name, and the least grave level that is shown. Before this call they are "flamegrid" and notices.
 * The first 63 bytes of program and verb are copied; with a verb (NULL: none) the name is "flamegrid: run". */
void log_begin(const char *program, const char *verb, enum log_level level);

void log_set_level(enum log_level level);

/* Returns whether messages of the level are written. */
bool log_shows(enum log_level level);

/* Writes one line by one call of write(2), if the level is shown. Control characters, and those that change
 * the direction of text, become '?'. It takes no memory and
 * no lock, and keeps errno. A line that cannot be written is dropped. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns what the journal reads before a line of this level, "<4>"; "" on other streams. It is for the lines of a
 * report, which are no messages. Static storage. */
const char *log_mark(enum log_level level);

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
