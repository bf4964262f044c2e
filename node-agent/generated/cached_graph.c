#include "cached_graph.h"
#include "proto/generated_path.h"

#include <string.h>

/* Opcodes of a pickle, of the protocols 4 and 5 (Python, Lib/pickletools.py). */
#define SHORT_TEXT 0x8c /* one byte of size */
#define TEXT       'X'  /* four bytes of size, the lowest first */
#define LONG_TEXT  0x8d /* eight */
#define MEMOIZE    0x94
#define SHORT_PUT  'q'  /* one byte follows */
#define FRAME      0x95 /* eight bytes follow */

/* Attributes' names as the pickle has them: the opcode and the size before the text. */
#define KEY                                                                                        \
	"\x8c\x09"                                                                                 \
	"cache_key"
#define GRAPH                                                                                      \
	"\x8c\x1c"                                                                                 \
	"inductor_post_grad_graph_str"
#define TRACES                                                                                     \
	"\x8c\x24"                                                                                 \
	"inductor_provenance_stack_traces_str"

static void skip(struct text_span *rest, size_t size)
{
	size = size < rest->size ? size : rest->size;
	rest->data += size;
	rest->size -= size;
}

static uint8_t first(struct text_span rest)
{
	return rest.size ? (uint8_t)rest.data[0] : 0;
}

/* Takes a size of so many bytes. */
static uint64_t take_size(struct text_span *rest, uint32_t bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bytes && i < rest->size; i++)
		value |= (uint64_t)(uint8_t)rest->data[i] << (8 * i);
	skip(rest, bytes);
	return value;
}

/* Takes a text. size 0: another object comes. */
static struct text_span take_text(struct text_span *rest)
{
	uint8_t opcode = first(*rest);
	uint32_t bytes = opcode == SHORT_TEXT  ? 1
			 : opcode == TEXT      ? 4
			 : opcode == LONG_TEXT ? 8
					       : 0;

	if (bytes == 0)
		return TEXT_SPAN_NONE;
	skip(rest, 1);
	uint64_t size = take_size(rest, bytes);
	return size <= rest->size ? (struct text_span){rest->data, (size_t)size} : TEXT_SPAN_NONE;
}

/* Finds the text of an attribute. Between the name and the text the pickle may remember the name, and begin a frame. */
static struct text_span find(struct text_span entry, const char *name)
{
	struct text_span rest = text_span_behind(entry, name, NULL);

	if (first(rest) == MEMOIZE)
		skip(&rest, 1);
	else if (first(rest) == SHORT_PUT)
		skip(&rest, 2);
	if (first(rest) == FRAME)
		skip(&rest, 9);
	return take_text(&rest);
}

struct text_span cached_graph_key(struct text_span head)
{
	struct text_span key = find(head, KEY);

	return generated_path_is_key(key.data, key.size) ? key : TEXT_SPAN_NONE;
}

struct text_span cached_graph_graph(struct text_span entry)
{
	return find(entry, GRAPH);
}

struct text_span cached_graph_traces(struct text_span entry)
{
	return find(entry, TRACES);
}
