#include "stack_resolver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h"
#include "cuda_file_cut.h"
#include "forward_stack.h"
#include "process_ledger.h"
#include "ring_outputs.h"

#include "node-agent/dictionary/id_table.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "proto/backward_frame.h"
#include "proto/generated_path.h"
#include "proto/model_lines.h"
#include "proto/stack_word.h"

#define NODE_UNKNOWN    0u /* not resolved yet; known node ids are stored one higher */
#define NAMELESS        "<unknown>"
#define RANGE_PREFIX    "[NVTX]"
#define DERIVATIVES_MAX 4u         /* derivatives of derivatives that are followed */
#define CBID_CAPTURE    UINT32_MAX /* above the cbids of launches */

#define CODE_HAS_FILE (1u << 31) /* a Python function with lines, not a mark */
static_assert(WIRE_ID_MAX < CODE_HAS_FILE, "an id and a bit");
static_assert(2 * RECORD_STACK_DEPTH + 1 <= STACK_RESOLVER_DEPTH_MAX,
	      "a stack, its origin, and a forward stack");

struct stack_resolver {
	const struct record_ring *ring;
	const struct ring_outputs *outputs;
	struct module_table *modules;
	uint64_t *text_room;
	struct id_table nodes;    /* guest's stack id to node id + 1 */
	struct id_table captures; /* the same for stacks that created a node of a graph */
	struct id_table codes;    /* guest's code id to code id, and CODE_HAS_FILE */
	struct id_table ranges;   /* 2 * guest's code id of a range + is lines, to code id */
	struct id_table origins;  /* 2 * guest's code id of an origin + near, to code id */
	struct id_table calls;    /* cbid to node id + 1, of launches without a stack */
	struct id_table others;   /* number to node id + 1, of stacks from outside the ring */
	struct id_table lost;     /* cbid to node id + 1, of launches whose stack was lost */
	uint32_t full_node;       /* node of RECORD_STACK_FULL; STACK_NODE_NONE: not made yet */
	uint32_t node_budget, full_budget; /* the latter is kept for full_node */
	uint32_t stack_id; /* whose words are translated; UINT32_MAX: of none in the ring */
	struct forward_stack *forward; /* owns */
	uint64_t words[RECORD_STACK_DEPTH];
	/* The words' frames begin at index 1. The API function's frame is put before the first frame that is kept. The
	 * frames of origins and of their forward stacks follow. */
	struct message_frame frames[STACK_RESOLVER_DEPTH_MAX];
	struct record_ring_code code;
};

struct stack_resolver *stack_resolver_create(const struct record_ring *ring,
					     const struct ring_outputs *outputs,
					     struct module_table *modules, uint64_t *text_room)
{
	struct stack_resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->forward = forward_stack_create(ring);
	if (!resolver->forward) {
		free(resolver);
		return NULL;
	}
	resolver->ring = ring;
	resolver->outputs = outputs;
	resolver->modules = modules;
	resolver->text_room = text_room;
	resolver->node_budget = RING_OUTPUTS_NODES_MAX - 1;
	resolver->full_budget = 1;
	return resolver;
}

void stack_resolver_destroy(struct stack_resolver *resolver)
{
	if (!resolver)
		return;
	id_table_fini(&resolver->nodes);
	id_table_fini(&resolver->captures);
	id_table_fini(&resolver->codes);
	id_table_fini(&resolver->ranges);
	id_table_fini(&resolver->origins);
	id_table_fini(&resolver->calls);
	id_table_fini(&resolver->others);
	id_table_fini(&resolver->lost);
	forward_stack_destroy(resolver->forward);
	free(resolver);
}

void stack_resolver_close(struct stack_resolver *resolver)
{
	resolver->node_budget = resolver->full_budget = 0;
}

static void count(struct stack_resolver *resolver, enum ledger_reason reason)
{
	process_ledger_count(resolver->outputs->ledger, LEDGER_DEVICE_NONE, reason, 1);
}

/* --- frames without a file ---------------------------------------------------------------------- */

static int intern(struct stack_resolver *resolver, const char *text, size_t size, uint32_t *id)
{
	int r = string_dictionary_intern(resolver->outputs->strings, text, size, id);

	if (r == 0 && *id == STRING_NONE)
		r = string_dictionary_intern(resolver->outputs->strings, NAMELESS, strlen(NAMELESS),
					     id);
	return r;
}

static int add_named(struct stack_resolver *resolver, const char *name, uint32_t *code_id)
{
	struct message_code code = {0};
	int r = intern(resolver, name, strlen(name), &code.name);

	return r ? r : stack_dictionary_add_code(resolver->outputs->stacks, code, code_id);
}

static int add_mark(struct stack_resolver *resolver, enum stack_mark mark, uint32_t *code_id)
{
	return add_named(resolver, stack_word_mark_name(mark), code_id);
}

/* --- Python frames ------------------------------------------------------------------------------ */

/* Makes a module of a generated file, in which the symbolizer finds lines. Other files, and files without room, have
 * none. 0 or -ENOMEM. */
static int add_generated(struct stack_resolver *resolver, uint32_t *module_id)
{
	const struct record_ring_code *names = &resolver->code;

	*module_id = MESSAGE_FRAME_NO_MODULE;
	if (!generated_path_parse(names->file, names->file_size, NULL, NULL))
		return 0;
	int r = module_table_add_generated(resolver->modules, names->file, names->file_size,
					   module_id);
	return r == -ENOMEM ? r : 0;
}

/* Adds the code of the names that were just read. -ENOSPC: the dictionary is full. */
static int add_python(struct stack_resolver *resolver, uint32_t *code_id)
{
	const struct record_ring_code *names = &resolver->code;
	struct stack_dictionary *stacks = resolver->outputs->stacks;
	struct message_code code;
	uint32_t module_id;
	uint64_t size = (uint64_t)names->file_size + names->name_size + 2 * RING_OUTPUTS_NAME_COST;

	if (size > *resolver->text_room)
		return -ENOSPC;
	*resolver->text_room -= size;
	int r = intern(resolver, names->file, names->file_size, &code.file);
	if (r == 0)
		r = intern(resolver, names->name, names->name_size, &code.name);
	if (r == 0)
		r = add_generated(resolver, &module_id);
	if (r)
		return r;
	return module_id == MESSAGE_FRAME_NO_MODULE
		       ? stack_dictionary_add_code(stacks, code, code_id)
		       : stack_dictionary_add_generated(stacks, code, module_id, code_id);
}

/* Sets *code_id, with CODE_HAS_FILE. Each id of the guest is read once, so a fault in it counts once. */
static int find_python(struct stack_resolver *resolver, uint32_t guest_id, uint32_t *code_id)
{
	*code_id = id_table_get(&resolver->codes, guest_id);
	if (*code_id != MESSAGE_FRAME_NATIVE)
		return 0;

	int r = guest_id <= RECORD_CODES_MAX
			? record_ring_read_code(resolver->ring, guest_id, &resolver->code)
			: -ENOENT;
	if (r) {
		count(resolver, LEDGER_UNTRUSTED_RING);
		r = add_mark(resolver, STACK_MARK_MISSING, code_id);
	} else {
		r = add_python(resolver, code_id);
		*code_id |= CODE_HAS_FILE;
		if (r == -ENOSPC) {
			count(resolver, LEDGER_CODE_TABLE_FULL);
			r = add_mark(resolver, STACK_MARK_CODE_TABLE_FULL, code_id);
		}
	}
	if (r || guest_id > RECORD_CODES_MAX)
		return r;
	return id_table_set(&resolver->codes, guest_id, *code_id);
}

/* --- NVTX ranges and origins -------------------------------------------------------------------- */

/* How the guest's name becomes a frame without a file. */
struct name_form {
	const char *prefix, *suffix;
	const char *nameless; /* in place of a name that was lost */
	enum ledger_reason lost;
};

static const struct name_form range_form = {RANGE_PREFIX, "", RANGE_PREFIX "...",
					    LEDGER_NVTX_NAME_LOST};
static const struct name_form lines_form = {
	MODEL_LINES_FRAME, "", MODEL_LINES_FRAME MODEL_LINES_MORE, LEDGER_CODE_TABLE_FULL};
static const struct name_form origin_form = {BACKWARD_FRAME " ", "", BACKWARD_FRAME,
					     LEDGER_CODE_TABLE_FULL};
static const struct name_form near_form = {BACKWARD_FRAME " ", BACKWARD_FRAME_NEAR,
					   BACKWARD_FRAME BACKWARD_FRAME_NEAR,
					   LEDGER_CODE_TABLE_FULL};

/* Adds the names that were just read as "PREFIXname" or "PREFIXfile:name", and a suffix. -ENOSPC: the dictionary is
 * full. */
static int add_formed(struct stack_resolver *resolver, const struct name_form *form,
		      uint32_t *code_id)
{
	const struct record_ring_code *names = &resolver->code;
	char text[64 + sizeof(names->file) + sizeof(names->name)];
	struct message_code code = {0};
	int size = snprintf(text, sizeof(text), "%s%.*s%s", form->prefix, (int)names->file_size,
			    names->file, names->file_size ? ":" : "");

	/* The first name ends at a NUL, since a hostile guest may send one. */
	memcpy(text + size, names->name, names->name_size);
	size += (int)names->name_size;
	memcpy(text + size, form->suffix, strlen(form->suffix));
	size += (int)strlen(form->suffix);
	uint64_t cost = (uint64_t)size + RING_OUTPUTS_NAME_COST;
	if (cost > *resolver->text_room)
		return -ENOSPC;
	*resolver->text_room -= cost;
	int r = intern(resolver, text, (size_t)size, &code.name);
	return r ? r : stack_dictionary_add_code(resolver->outputs->stacks, code, code_id);
}

/* Finds the code of a name that the guest has as guest_id (0: it was lost), which `known` keeps as `key`. */
static int find_formed(struct stack_resolver *resolver, const struct name_form *form,
		       struct id_table *known, uint32_t key, uint32_t guest_id, uint32_t *code_id)
{
	*code_id = guest_id <= RECORD_CODES_MAX ? id_table_get(known, key) : MESSAGE_FRAME_NATIVE;
	if (*code_id != MESSAGE_FRAME_NATIVE)
		return 0;
	if (guest_id == 0)
		return add_named(resolver, form->nameless, code_id);

	int r = guest_id <= RECORD_CODES_MAX
			? record_ring_read_code(resolver->ring, guest_id, &resolver->code)
			: -ENOENT;
	if (r) {
		count(resolver, LEDGER_UNTRUSTED_RING);
		r = add_named(resolver, form->nameless, code_id);
	} else {
		r = add_formed(resolver, form, code_id);
		if (r == -ENOSPC) {
			count(resolver, form->lost);
			r = add_named(resolver, form->nameless, code_id);
		}
	}
	if (r || guest_id > RECORD_CODES_MAX)
		return r;
	return id_table_set(known, key, *code_id);
}

/* Of a range, or of lines of a model. */
static int find_range(struct stack_resolver *resolver, uint64_t word, uint32_t *code_id)
{
	uint32_t guest_id = stack_word_range_code(word);
	bool lines = stack_word_is_lines(word);

	return find_formed(resolver, lines ? &lines_form : &range_form, &resolver->ranges,
			   2 * guest_id + lines, guest_id, code_id);
}

static int find_origin(struct stack_resolver *resolver, uint64_t word, uint32_t *code_id)
{
	uint32_t guest_id = stack_word_origin_name(word);
	bool near = stack_word_origin_is_near(word);

	return find_formed(resolver, near ? &near_form : &origin_form, &resolver->origins,
			   2 * guest_id + near, guest_id, code_id);
}

/* --- stacks ------------------------------------------------------------------------------------- */

static int translate(struct stack_resolver *resolver, uint64_t word, struct message_frame *frame)
{
	/* A return address may lie behind the function that made the call, so the address before it is looked up. */
	if (stack_word_is_native(word)) {
		frame->code = MESSAGE_FRAME_NATIVE;
		return module_table_find_of(resolver->modules, resolver->stack_id, word - 1, frame);
	}
	*frame = (struct message_frame){.module = MESSAGE_FRAME_NO_MODULE};
	if (stack_word_is_mark(word))
		return add_mark(resolver, stack_word_mark_of(word), &frame->code);
	if (stack_word_is_range(word) || stack_word_is_lines(word))
		return find_range(resolver, word, &frame->code);
	if (stack_word_is_origin(word))
		return find_origin(resolver, word, &frame->code);
	int r = find_python(resolver, stack_word_code_id(word), &frame->code);
	if (r == 0 && frame->code & CODE_HAS_FILE)
		frame->offset = stack_word_line(word);
	frame->code &= ~CODE_HAS_FILE;
	return r;
}

/* Adds the launch's stack: `depth` frames, and `outer` ones of its origin. */
static int add_stack(struct stack_resolver *resolver, uint32_t depth, uint32_t outer, uint32_t cbid,
		     uint32_t *node_id)
{
	bool named;
	uint32_t run = cuda_file_cut_of(resolver->outputs->stacks, resolver->words,
					&resolver->frames[1], depth, &named);
	struct message_frame *leaf = &resolver->frames[named ? run + 1 : run];

	if (!named) {
		*leaf = (struct message_frame){.module = MESSAGE_FRAME_NO_MODULE};
		int r = add_named(resolver, cuda_api_name(cbid), &leaf->code);

		if (r)
			return r;
	}
	return stack_dictionary_add_stack(resolver->outputs->stacks, leaf,
					  depth + outer - run + !named, &resolver->node_budget,
					  node_id);
}

static int add_capture(struct stack_resolver *resolver, uint32_t depth, uint32_t outer,
		       uint32_t *node_id)
{
	bool named;
	uint32_t run = cuda_file_cut_of(resolver->outputs->stacks, resolver->words,
					&resolver->frames[1], depth, &named);

	if (run == depth)
		return -ENOENT;
	return stack_dictionary_add_stack(resolver->outputs->stacks, &resolver->frames[1 + run],
					  depth + outer - run, &resolver->node_budget, node_id);
}

static int translate_all(struct stack_resolver *resolver, const uint64_t *words, uint32_t depth,
			 struct message_frame *frames)
{
	int r = 0;

	for (uint32_t i = 0; i < depth && r == 0; i++)
		r = translate(resolver, words[i], &frames[i]);
	return r;
}

/* Puts the frames of a forward stack that was read. CUDA's frames at its leaf are its launch's, and are left out. */
static int put_forward(struct stack_resolver *resolver, uint32_t forward_id, uint32_t depth,
		       struct message_frame *frames, uint32_t *put)
{
	const uint64_t *words = forward_stack_words(resolver->forward);
	const uint32_t stack_id = resolver->stack_id;
	bool named;

	resolver->stack_id = forward_id;
	int r = translate_all(resolver, words, depth, frames);
	resolver->stack_id = stack_id;

	*put = 0;
	if (r)
		return r;
	uint32_t cut = cuda_file_cut_of(resolver->outputs->stacks, words, frames, depth, &named);
	if (named)
		cut++;
	memmove(frames, frames + cut, (depth - cut) * sizeof(*frames));
	*put = depth - cut;
	return 0;
}

/* Puts the frame of an origin and those of its forward stack behind the stack's own, and then those of the origin that
 * the forward operation itself has. room: frames, for an origin and a whole stack at least. Without room for these once
 * more, the frames between two origins are left out. Nothing proves the line then, so that it gets the mark. */
static int put_origins(struct stack_resolver *resolver, uint64_t word, struct message_frame *frames,
		       uint32_t room, uint32_t *outer)
{
	int r = 0;

	*outer = 0;
	for (uint32_t i = 0; word && r == 0; i++) {
		uint64_t next = 0;
		uint32_t put;

		r = translate(resolver, word, &frames[*outer]);
		int depth = r || i > DERIVATIVES_MAX
				    ? 0
				    : forward_stack_read(resolver->forward, word, &next);
		if (depth < 0) {
			count(resolver, LEDGER_UNTRUSTED_RING);
			depth = 0;
		}
		if (next && *outer + 1 + (uint32_t)depth + 1 + RECORD_STACK_DEPTH > room) {
			word = stack_word_origin(stack_word_origin_name(word),
						 stack_word_origin_stack(next), true);
			continue;
		}
		++*outer;
		if (r == 0)
			r = put_forward(resolver, stack_word_origin_stack(word), (uint32_t)depth,
					&frames[*outer], &put);
		if (r == 0)
			*outer += put;
		word = next;
	}
	return r;
}

/* Resolves the words that were just read. cbid: the launch's, or CBID_CAPTURE. */
static int resolve_words(struct stack_resolver *resolver, uint32_t depth, uint32_t cbid,
			 uint32_t *node_id)
{
	uint64_t origin = resolver->words[depth - 1];
	uint32_t outer = 0;
	int r;

	if (stack_word_is_origin(origin))
		depth--;
	r = translate_all(resolver, resolver->words, depth, &resolver->frames[1]);
	if (r == 0 && stack_word_is_origin(origin))
		r = put_origins(resolver, origin, &resolver->frames[1 + depth],
				STACK_RESOLVER_DEPTH_MAX - 1 - depth, &outer);
	if (r)
		return r;
	return cbid == CBID_CAPTURE ? add_capture(resolver, depth, outer, node_id)
				    : add_stack(resolver, depth, outer, cbid, node_id);
}

static int resolve(struct stack_resolver *resolver, uint32_t stack_id, uint32_t cbid,
		   uint32_t *node_id)
{
	int depth = record_ring_read_stack(resolver->ring, stack_id, resolver->words);

	resolver->stack_id = stack_id;
	return depth > 0 ? resolve_words(resolver, (uint32_t)depth, cbid, node_id) : -ENOENT;
}

static int resolve_full(struct stack_resolver *resolver)
{
	struct message_frame frame = {.module = MESSAGE_FRAME_NO_MODULE};
	int r = add_mark(resolver, STACK_MARK_STACK_TABLE_FULL, &frame.code);

	return r ? r
		 : stack_dictionary_add_stack(resolver->outputs->stacks, &frame, 1,
					      &resolver->full_budget, &resolver->full_node);
}

/* Makes a stack of only the API function. */
static int resolve_call(struct stack_resolver *resolver, uint32_t cbid, uint32_t *node_id)
{
	uint32_t known = id_table_get(&resolver->calls, cbid);

	if (known != NODE_UNKNOWN) {
		*node_id = known - 1;
		return 0;
	}
	int r = add_stack(resolver, 0, 0, cbid, node_id);
	return r ? r : id_table_set(&resolver->calls, cbid, *node_id + 1);
}

/* A full dictionary or a malformed stack costs the stack, but never ends the agent. */
static int tolerate(int r)
{
	return r == -ENOMEM ? r : 0;
}

/* Finds the node of any stack_id but RECORD_STACK_NONE. */
static int find_node(struct stack_resolver *resolver, struct id_table *known_nodes,
		     uint32_t stack_id, uint32_t cbid, uint32_t *node_id)
{
	if (stack_id == RECORD_STACK_FULL) {
		int r = resolver->full_node == STACK_NODE_NONE ? resolve_full(resolver) : 0;

		*node_id = resolver->full_node;
		return tolerate(r);
	}
	if (stack_id > RECORD_STACKS_MAX)
		return 0;

	uint32_t known = id_table_get(known_nodes, stack_id);
	if (known != NODE_UNKNOWN) {
		*node_id = known - 1;
		return 0;
	}
	int r = tolerate(resolve(resolver, stack_id, cbid, node_id));
	return r ? r : id_table_set(known_nodes, stack_id, *node_id + 1);
}

int stack_resolver_node(struct stack_resolver *resolver, uint32_t stack_id, uint32_t cbid,
			uint32_t *node_id)
{
	*node_id = STACK_NODE_NONE;
	if (stack_id == RECORD_STACK_NONE)
		return tolerate(resolve_call(resolver, cbid, node_id));
	return find_node(resolver, &resolver->nodes, stack_id, cbid, node_id);
}

int stack_resolver_capture(struct stack_resolver *resolver, uint32_t stack_id, uint32_t *node_id)
{
	*node_id = STACK_NODE_NONE;
	if (stack_id == RECORD_STACK_NONE)
		return 0;
	return find_node(resolver, &resolver->captures, stack_id, CBID_CAPTURE, node_id);
}

int stack_resolver_words(struct stack_resolver *resolver, uint32_t number, const uint64_t *words,
			 uint32_t depth, uint32_t cbid, uint32_t *node_id)
{
	uint32_t known = id_table_get(&resolver->others, number);

	*node_id = known - 1;
	if (known != NODE_UNKNOWN)
		return 0;
	*node_id = STACK_NODE_NONE;
	depth = depth < RECORD_STACK_DEPTH ? depth : RECORD_STACK_DEPTH;
	memcpy(resolver->words, words, depth * sizeof(*words));
	resolver->stack_id = UINT32_MAX;
	int r = tolerate(resolve_words(resolver, depth, cbid, node_id));
	return r ? r : id_table_set(&resolver->others, number, *node_id + 1);
}

int stack_resolver_lost(struct stack_resolver *resolver, uint32_t cbid, uint32_t *node_id)
{
	uint32_t known = id_table_get(&resolver->lost, cbid);

	*node_id = known - 1;
	if (known != NODE_UNKNOWN)
		return 0;
	*node_id = STACK_NODE_NONE;
	resolver->words[0] = stack_word_mark(STACK_MARK_MISSING);
	resolver->stack_id = UINT32_MAX;
	int r = tolerate(resolve_words(resolver, 1, cbid, node_id));
	return r ? r : id_table_set(&resolver->lost, cbid, *node_id + 1);
}
