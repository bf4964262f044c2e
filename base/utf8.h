/* Characters of UTF-8 in text of others, which may hold any bytes. Any thread. */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the character at text, of which left bytes are there, and *code is its number; 0: it is
 * overlong, a surrogate, too large or cut, and *code is not to be used. */
size_t utf8_size(const uint8_t *text, size_t left, uint32_t *code);

/* Returns whether the character has no shape of its own and acts on the terminal or the page: C0, DEL and C1, the marks
 * and embeddings that change the direction of text, separators of lines, and noncharacters, which XML does not take. */
bool utf8_is_control(uint32_t code);

#endif
