/* Parts of a text in memory, which need no NUL. Pure; any thread. */
#ifndef TEXT_SPAN_H
#define TEXT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_span {
	const char *data; /* borrowed from the text */
	size_t size;
};

#define TEXT_SPAN_NONE ((struct text_span){NULL, 0})

/* Takes the next line, without its end, out of *rest. false: there was none left. */
bool text_span_line(struct text_span *rest, struct text_span *line);

/* Returns the text without the blanks around it. */
struct text_span text_span_trim(struct text_span text);

bool text_span_begins(struct text_span text, const char *with);
bool text_span_ends(struct text_span text, const char *with);
bool text_span_equals(struct text_span text, struct text_span other);

/* Return what lies before, and behind, the first (or last) such part. *found (may be NULL) says whether there is one.
 * Without one the text is all before it, and nothing behind it. */
struct text_span text_span_before(struct text_span text, const char *part, bool *found);
struct text_span text_span_behind(struct text_span text, const char *part, bool *found);
struct text_span text_span_before_last(struct text_span text, const char *part, bool *found);
struct text_span text_span_behind_last(struct text_span text, const char *part, bool *found);

/* Cuts the digits at the text's begin, and reads them. false: there are none, or the number is above UINT32_MAX. */
bool text_span_number(struct text_span *text, uint32_t *number);

/* Takes the next part between such separators out of *rest. false: there was none left. */
bool text_span_part(struct text_span *rest, const char *separator, struct text_span *part);

#endif
