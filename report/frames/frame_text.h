/* The texts of stack nodes, as the catalog has them: borrowed from it, without a NUL. Pure; any thread. */
#ifndef FRAME_TEXT_H
#define FRAME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog;
struct catalog_frame;

struct frame_text {
	const char *data;
	uint32_t size; /* 0: empty */
};

const struct catalog_frame *frame_text_frame(const struct catalog *catalog, uint32_t node_id);
uint32_t frame_text_parent(const struct catalog *catalog, uint32_t node_id); /* 0: none */

/* Returns the symbol of a native frame; empty: it is another frame, or has none. */
struct frame_text frame_text_symbol(const struct catalog *catalog, uint32_t node_id);

/* Returns the words of a frame without a file, such as a mark; empty: it is another frame. */
struct frame_text frame_text_mark(const struct catalog *catalog, uint32_t node_id);

/* Returns the file and the function of a Python frame; empty: it is another frame. */
struct frame_text frame_text_python(const struct catalog *catalog, uint32_t node_id,
				    struct frame_text *name);

/* Returns what follows the last slash. */
struct frame_text frame_text_base(struct frame_text path);

bool frame_text_equals(struct frame_text text, const char *other);
bool frame_text_begins(struct frame_text text, const char *with);
bool frame_text_ends(struct frame_text text, const char *with);
const char *frame_text_find(struct frame_text text, const char *part); /* NULL: it is not in it */

#endif
