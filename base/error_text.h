/* Makes one line that tells people why something failed, beside the status for programs. Any thread. */
#ifndef ERROR_TEXT_H
#define ERROR_TEXT_H

/* Returns status. *error becomes the line, which the caller owns (free()); NULL: out of memory. It does nothing if
 * error is NULL or *error is a line already. */
int error_text_set(char **error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
