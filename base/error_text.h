/* One line for people that says why something failed, beside the status that programs look at. Any thread. */
#ifndef ERROR_TEXT_H
#define ERROR_TEXT_H

/* Returns status. *error becomes the line, owns: free(); NULL: there was no memory for it. error NULL, or a line that
 * is there already: nothing is done. */
int error_text_set(char **error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
