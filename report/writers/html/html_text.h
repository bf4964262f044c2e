/* Text of a profiled program in a page. Bytes that are not UTF-8 become U+FFFD; NULL is "". Any thread. */
#ifndef HTML_TEXT_H
#define HTML_TEXT_H

#include <stdio.h>

/* Writes a JSON string without '<', '>', '&' and control characters, so that it is harmless in every element. */
void html_text_json(FILE *out, const char *string);

/* Writes the text of an element. */
void html_text_write(FILE *out, const char *string);

#endif
