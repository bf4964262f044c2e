/* Text of unknown origin as UTF-8. Pure; any thread. */
#ifndef UTF8_TEXT_H
#define UTF8_TEXT_H

#include <stddef.h>

#define UTF8_TEXT_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Returns the bytes of the character with which the string begins, 1 to 4; 0: they are no UTF-8, or it is empty. Long
 * forms and surrogates are none. */
size_t utf8_text_next(const char *text);

#endif
