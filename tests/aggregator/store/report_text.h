/* A stored profile's reports as text, for comparing. Fails the running test on any error. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

/* Folded stacks in ns by all dimensions, the summary, when streams and devices were busy, what ranks did.
 * Owns: free(). */
char *report_text_of(const char *path);

/* The profile as JSON, which lists processes in the order of their ids. Owns: free(). */
char *report_json_of(const char *path);

#endif
