#include "inner_range.h"

#include <stdio.h>
#include <string.h>

#include "frame_text.h"

#include "proto/model_lines.h"
#include "report/names/line_list.h"

#define OPERATION      "[NVTX]TSL:Thunk:#"
#define MODULE         "[NVTX]TSL:XlaModule:#"
#define OPERATION_NAME "hlo_op="
#define MODULE_NAME    "hlo_module="

bool inner_range_is(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text text = frame_text_mark(catalog, node_id);

	return frame_text_begins(text, OPERATION) || frame_text_begins(text, MODULE) ||
	       frame_text_begins(text, MODEL_LINES_FRAME);
}

/* Returns the value that follows the word; empty: there is none. */
static struct frame_text value_of(struct frame_text text, const char *word)
{
	const char *at = frame_text_find(text, word), *end = text.data + text.size;
	struct frame_text value = {at ? at + strlen(word) : end, 0};

	while (value.data + value.size < end && value.data[value.size] != ',' &&
	       value.data[value.size] != '#')
		value.size++;
	/* A '#' stands for digits, too, and then more of the name follows, or the end of the title. */
	while (value.data + value.size + 1 < end && value.data[value.size] == '#' &&
	       value.data[value.size + 1] != ' ')
		value.size++;
	return value;
}

static void write_frames(struct frame_text text, char *name, char *lines)
{
	bool module = frame_text_begins(text, MODULE);
	struct frame_text value = value_of(text, module ? MODULE_NAME : OPERATION_NAME);
	const char *title_end = module ? NULL : frame_text_find(text, "# ");

	if (value.size == 0)
		value = text;
	snprintf(name, INNER_RANGE_TEXT_MAX, "%s %.*s", module ? "[XLA]" : "[HLO]", (int)value.size,
		 value.data);
	*lines = '\0';
	if (title_end)
		snprintf(lines, INNER_RANGE_TEXT_MAX, "%.*s",
			 (int)(text.data + text.size - title_end - 2), title_end + 2);
}

void inner_range_frames(const struct catalog *catalog, uint32_t node_id,
			char name[static INNER_RANGE_TEXT_MAX],
			char lines[static INNER_RANGE_TEXT_MAX], bool numbers)
{
	struct frame_text text = frame_text_mark(catalog, node_id);

	if (frame_text_begins(text, MODEL_LINES_FRAME)) {
		*name = '\0';
		snprintf(lines, INNER_RANGE_TEXT_MAX, "%.*s",
			 (int)(text.size - strlen(MODEL_LINES_FRAME)),
			 text.data + strlen(MODEL_LINES_FRAME));
	} else {
		write_frames(text, name, lines);
	}
	if (!numbers)
		line_list_drop_numbers(lines);
}
