#include "wrapper_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

#define SOURCES     "Source Nodes: ["
#define OPERATIONS  "], Original ATen: ["
#define MAPPING     "# Source node to ATen node mapping:"
#define FRAGMENT    "# Graph fragment:"
#define ORIGIN      "# Original path: "
#define HANDLES     "# [Provenance debug handles] "
#define DEFINES     " = async_compile.triton('"
#define RUN         ".run"
#define OUT         "out=buf"
#define TEXT_QUOTES "'''"

/* What the lines above have said. */
struct reading {
	struct wrapper_code *code;
	struct hash_index index; /* of kernels, + 1 */
	uint32_t line;
	struct text_span block;                 /* comment lines that end above this line */
	struct text_span comment;               /* of the next call; size 0: none */
	struct text_span handle, handle_callee; /* handle_callee: before the handle's number */
	bool in_kernel;                         /* within a kernel's own text */
	bool *called;                           /* owns; for each kernel */
	uint32_t room_called;
};

/* Returns the text from one place to the end of another. */
static struct text_span joined(struct text_span first, struct text_span last)
{
	return (struct text_span){first.data, (size_t)(last.data + last.size - first.data)};
}

static bool is_comment_of_nodes(struct text_span line)
{
	return text_span_begins(line, "# ") && text_span_behind(line, SOURCES, NULL).data;
}

struct text_span wrapper_code_sources(struct text_span comment)
{
	return text_span_before(text_span_behind(comment, SOURCES, NULL), OPERATIONS, NULL);
}

struct text_span wrapper_code_operations(struct text_span comment)
{
	return text_span_before(text_span_behind(comment, OPERATIONS, NULL), "]", NULL);
}

/* ---- definitions */

/* Finds the parts of the comment above a definition. */
static void read_block(struct text_span block, struct wrapper_kernel *kernel)
{
	struct text_span line, *part = NULL;

	while (text_span_line(&block, &line)) {
		if (is_comment_of_nodes(line)) {
			kernel->comment = line;
			part = NULL;
		} else if (text_span_begins(line, ORIGIN)) {
			kernel->origin = text_span_behind(line, ORIGIN, NULL);
			part = NULL;
		} else if (text_span_begins(line, MAPPING)) {
			part = &kernel->mapping;
		} else if (text_span_begins(line, FRAGMENT)) {
			part = &kernel->fragment;
		} else if (part) {
			*part = part->size ? joined(*part, line) : line;
		}
	}
}

static bool has_name(const void *context, uint32_t id, const void *key)
{
	const struct wrapper_code *code = context;

	return text_span_equals(code->kernels[id - 1].name, *(const struct text_span *)key);
}

static uint32_t find_kernel(const struct reading *reading, struct text_span name)
{
	return hash_index_find(&reading->index, hash_index_hash(name.data, name.size), has_name,
			       reading->code, &name);
}

/* line: "NAME = async_compile.triton('FUNCTION', …". */
static int add_kernel(struct reading *reading, struct text_span name, struct text_span line)
{
	struct wrapper_code *code = reading->code;
	struct wrapper_kernel kernel = {.name = name};

	if (find_kernel(reading, name))
		return 0;
	if (code->nr_kernels == WRAPPER_CODE_ITEMS_MAX)
		return -ENOSPC;
	kernel.function = text_span_before(text_span_behind(line, DEFINES, NULL), "'", NULL);
	read_block(reading->block, &kernel);
	if (array_reserve(&code->kernels, &code->room_kernels, code->nr_kernels + 1ull,
			  sizeof(kernel)) ||
	    array_reserve_zeroed(&reading->called, &reading->room_called, code->nr_kernels + 1ull,
				 sizeof(*reading->called)))
		return -ENOMEM;
	code->kernels[code->nr_kernels++] = kernel;
	return hash_index_insert(&reading->index, hash_index_hash(name.data, name.size),
				 code->nr_kernels);
}

/* ---- calls */

static void forget_comments(struct reading *reading)
{
	reading->comment = reading->handle = reading->handle_callee = TEXT_SPAN_NONE;
}

/* Cuts "buf9 = " off. *buffer: its number. */
static struct text_span cut_result(struct text_span line, uint32_t *buffer)
{
	bool found;
	struct text_span left = text_span_before(line, " = ", &found), digits;

	*buffer = WRAPPER_BUFFER_NONE;
	if (!found || text_span_behind(left, "(", NULL).data)
		return line;
	digits = text_span_behind(left, "buf", &found);
	if (!found || digits.data != left.data + 3 || !text_span_number(&digits, buffer) ||
	    digits.size > 0)
		*buffer = WRAPPER_BUFFER_NONE;
	return text_span_behind(line, " = ", NULL);
}

/* A fallback operation is called by its full name, or, before PyTorch 2.5, by "aten.". */
static bool is_callee(const struct reading *reading, struct text_span callee)
{
	return text_span_ends(callee, RUN) || text_span_begins(callee, "extern_kernels.") ||
	       text_span_begins(callee, "torch.ops.") || text_span_begins(callee, "aten.") ||
	       (reading->handle_callee.size > 0 &&
		text_span_equals(callee, reading->handle_callee));
}

/* Finds the number in "out=buf7)". */
static uint32_t made_by(struct text_span line, uint32_t buffer)
{
	struct text_span out = text_span_behind_last(line, OUT, NULL);
	uint32_t number;

	return out.data && text_span_number(&out, &number) ? number : buffer;
}

/* Finds the callee in a line without comment. Each comment belongs to the first call below it. A kernel of the user's
 * own needs none. false: it is no call that anything is known of. */
static bool find_call(const struct reading *reading, struct text_span line,
		      struct wrapper_call *call)
{
	bool found, commented = reading->comment.size > 0 || reading->handle.size > 0;

	call->callee = text_span_before(cut_result(line, &call->buffer), "(", &found);
	if (!found || !is_callee(reading, call->callee))
		return false;
	call->buffer = made_by(line, call->buffer);
	if (text_span_ends(call->callee, RUN))
		call->kernel = find_kernel(reading, text_span_before_last(call->callee, RUN, NULL));
	return commented ||
	       (call->kernel && reading->code->kernels[call->kernel - 1].origin.size > 0);
}

static int read_call(struct reading *reading, struct text_span line)
{
	struct wrapper_code *code = reading->code;
	struct wrapper_call call = {
		.line = reading->line, .comment = reading->comment, .handle = reading->handle};

	if (!find_call(reading, line, &call))
		return 0;
	if (call.kernel) {
		call.is_first = !reading->called[call.kernel - 1];
		reading->called[call.kernel - 1] = true;
	}
	if (code->nr_calls == WRAPPER_CODE_ITEMS_MAX)
		return -ENOSPC;
	if (array_reserve(&code->calls, &code->room_calls, code->nr_calls + 1ull, sizeof(call)))
		return -ENOMEM;
	code->calls[code->nr_calls++] = call;
	forget_comments(reading);
	return 0;
}

/* ---- lines */

static void read_comment(struct reading *reading, struct text_span line)
{
	if (is_comment_of_nodes(line)) {
		forget_comments(reading);
		reading->comment = line;
	} else if (text_span_begins(line, HANDLES)) {
		reading->handle = text_span_trim(text_span_behind(line, HANDLES, NULL));
		reading->handle_callee = text_span_before_last(reading->handle, ":", NULL);
	}
}

static int read_line(struct reading *reading, struct text_span whole)
{
	struct text_span line = text_span_trim(whole);
	bool found;

	if (reading->in_kernel) {
		reading->in_kernel = !text_span_begins(whole, TEXT_QUOTES);
		return 0;
	}
	if (text_span_begins(whole, "#"))
		reading->block = reading->block.size ? joined(reading->block, whole) : whole;
	if (text_span_begins(line, "#")) {
		read_comment(reading, line);
		return 0;
	}
	struct text_span name = text_span_before(line, DEFINES, &found);
	int error = found ? add_kernel(reading, name, line) : read_call(reading, line);

	if (found) {
		reading->in_kernel = text_span_ends(line, TEXT_QUOTES);
		forget_comments(reading);
	}
	reading->block = TEXT_SPAN_NONE;
	return error;
}

int wrapper_code_init(struct wrapper_code *code, struct text_span text)
{
	struct reading reading = {.code = code};
	struct text_span line;
	int error = 0;

	memset(code, 0, sizeof(*code));
	while (!error && text_span_line(&text, &line)) {
		reading.line++;
		error = read_line(&reading, line);
	}
	hash_index_fini(&reading.index);
	free(reading.called);
	if (error)
		wrapper_code_fini(code);
	return error;
}

void wrapper_code_fini(struct wrapper_code *code)
{
	free(code->kernels);
	free(code->calls);
	memset(code, 0, sizeof(*code));
}
