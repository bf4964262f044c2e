#include "address_stack.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_process.h"
#include "stack_merge.h"
#include "unwind_files.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/files/foreign_file.h"
#include "node-agent/files/maps_file.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/ring_outputs.h"
#include "node-agent/symbols/kernel_symbols.h"
#include "node-agent/symbols/module_table.h"

#define WALK_MAX      192u /* frames of one walk */
#define PREPARED_MAX  16u  /* files to open before the first stack: a program begins with three */
#define ITEMS_MAX     (ADDRESS_STACK_DEPTH_MAX + SAMPLE_PYTHON_DEPTH + STACK_MERGE_MARKS)
#define KNOWN_MAX     (1u << 16) /* stacks; at this limit all are forgotten */
#define KERNEL_SUFFIX "_[k]"
#define KERNEL_NONE   "[kernel]"
#define NAME_MAX_SIZE 512

static_assert(WALK_MAX + SAMPLE_KERNEL_DEPTH + SAMPLE_PYTHON_DEPTH + STACK_MERGE_MARKS <=
		      WIRE_STACK_DEPTH_MAX,
	      "the aggregator takes the longest stack");

/* A stack, known by the digest of its addresses. Two of 2^16 stacks have one digest with a probability of 2^-33. */
struct known {
	uint64_t digest;
	uint32_t node_id;
	uint32_t lacks; /* enum address_stack_lack */
};

struct address_stack {
	const struct ring_outputs *outputs;
	const struct kernel_symbols *kernel;
	struct unwind_files *files;
	struct module_table *modules; /* owns */
	struct known *known;          /* owns */
	uint32_t nr_known, max_known;
	struct hash_index index; /* digest to number + 1 in known */
	uint32_t node_budget;
	uint32_t code_pages;
	bool has_read, may_read; /* the maps: ever; again in this pass */
	/* owns the process; NULL: no Python frames are wanted */
	struct address_stack_python python;
	struct python_process_frames python_frames;
	uint64_t walked[ADDRESS_STACK_DEPTH_MAX];
	bool is_loop[ADDRESS_STACK_DEPTH_MAX];
	struct stack_merge_item items[ITEMS_MAX];
	struct message_frame frames[ADDRESS_STACK_DEPTH_MAX + ITEMS_MAX];
};

struct address_stack *address_stack_create(const struct ring_outputs *outputs,
					   const struct kernel_symbols *kernel,
					   struct unwind_files *files, pid_t pid, bool reads_maps)
{
	struct address_stack *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->outputs = outputs;
	stacks->kernel = kernel;
	stacks->files = files;
	stacks->may_read = true;
	stacks->node_budget = RING_OUTPUTS_NODES_MAX;
	uid_t user, effective;

	proc_file_users(pid, &user, &effective);
	stacks->modules = module_table_create(ring_outputs_modules(outputs), pid, user, reads_maps);
	if (!stacks->modules) {
		address_stack_destroy(stacks);
		return NULL;
	}
	return stacks;
}

void address_stack_destroy(struct address_stack *stacks)
{
	if (!stacks)
		return;
	python_process_destroy(stacks->python.process);
	module_table_destroy(stacks->modules);
	free(stacks->known);
	hash_index_fini(&stacks->index);
	free(stacks);
}

void address_stack_set_python(struct address_stack *stacks,
			      const struct address_stack_python *python)
{
	python_process_destroy(stacks->python.process);
	stacks->python = *python;
}

struct python_codes *address_stack_codes(const struct address_stack *stacks)
{
	return stacks->python.process ? python_process_codes(stacks->python.process) : NULL;
}

/* ---- stacks that were seen before --------------------------------------------------------------- */

/* The digest also covers the place where the user's part ends. */
static uint64_t digest_of(const struct address_list *list)
{
	uint64_t digest = hash_index_digest(list->python_cut, list->user,
					    list->nr_user * sizeof(*list->user));

	digest = hash_index_digest(digest, list->kernel, list->nr_kernel * sizeof(*list->kernel));
	return hash_index_digest(digest, list->python, list->nr_python * sizeof(*list->python));
}

static bool has_digest(const void *context, uint32_t id, const void *key)
{
	const struct address_stack *stacks = context;

	return stacks->known[id - 1].digest == *(const uint64_t *)key;
}

static void forget_all(struct address_stack *stacks)
{
	hash_index_clear(&stacks->index);
	stacks->nr_known = 0;
}

/* Without memory the stack is used but not remembered. */
static void remember(struct address_stack *stacks, uint64_t digest, uint32_t node_id,
		     uint32_t lacks)
{
	if (stacks->nr_known == KNOWN_MAX)
		forget_all(stacks);
	if (array_reserve(&stacks->known, &stacks->max_known, stacks->nr_known + 1,
			  sizeof(*stacks->known)))
		return;
	if (hash_index_insert(&stacks->index, hash_index_hash_word(digest), stacks->nr_known + 1))
		return;
	stacks->known[stacks->nr_known++] = (struct known){digest, node_id, lacks};
}

/* ---- frames ------------------------------------------------------------------------------------- */

static int kernel_frame(struct address_stack *stacks, uint64_t address, struct message_frame *frame)
{
	const char *name = stacks->kernel ? kernel_symbols_find(stacks->kernel, address) : NULL;
	char text[NAME_MAX_SIZE] = KERNEL_NONE;
	struct message_code code = {0};

	if (name)
		snprintf(text, sizeof(text), "%s" KERNEL_SUFFIX, name);
	int r = string_dictionary_intern(stacks->outputs->strings, text, strlen(text), &code.name);
	*frame = (struct message_frame){.module = MESSAGE_FRAME_NO_MODULE};
	return r ? r : stack_dictionary_add_code(stacks->outputs->stacks, code, &frame->code);
}

/* A return address may lie behind the function that made the call. */
static uint64_t place_of(const uint64_t *addresses, uint32_t i)
{
	return i == 0 || addresses[i] == 0 ? addresses[i] : addresses[i] - 1;
}

static int native_frame(struct address_stack *stacks, const struct address_list *list, uint32_t i,
			struct message_frame *frame)
{
	return module_table_find(stacks->modules, place_of(list->user, i), frame);
}

static int mark_frame(struct address_stack *stacks, enum stack_mark mark,
		      struct message_frame *frame)
{
	const char *name = stack_word_mark_name(mark);
	struct message_code code = {0};
	int r = string_dictionary_intern(stacks->outputs->strings, name, strlen(name), &code.name);

	*frame = (struct message_frame){.module = MESSAGE_FRAME_NO_MODULE};
	return r ? r : stack_dictionary_add_code(stacks->outputs->stacks, code, &frame->code);
}

static int item_frame(struct address_stack *stacks, const struct address_list *list,
		      const struct stack_merge_item *item, struct message_frame *frame)
{
	switch (item->kind) {
	case STACK_MERGE_PYTHON:
		*frame = stacks->python_frames.frames[item->number];
		return 0;
	case STACK_MERGE_MARK:
		return mark_frame(stacks, (enum stack_mark)item->number, frame);
	case STACK_MERGE_NATIVE:
	default:
		return native_frame(stacks, list, item->number, frame);
	}
}

/* Reads the stack's Python frames, if it has any. 0 or -ENOMEM. */
static int read_python(struct address_stack *stacks, const struct address_list *list,
		       uint32_t *lacks)
{
	struct python_process_frames *frames = &stacks->python_frames;
	struct sample_python nowhere = {0};
	bool refused = false;
	int r = 0;

	frames->nr = 0;
	frames->unread = frames->by_address = false;
	if (!stacks->python.process || list->nr_user == 0)
		return 0;
	if (list->nr_python)
		r = python_process_frames(stacks->python.process, list->python, list->nr_python,
					  frames, &refused);
	if (refused)
		stacks->python.publish(stacks->python.context, &nowhere);
	if ((list->nr_python && frames->unread) ||
	    python_process_state(stacks->python.process) == PYTHON_PROCESS_REFUSED)
		*lacks |= ADDRESS_STACK_NO_PYTHON;
	return r;
}

static uint32_t find_loops(struct address_stack *stacks, const struct address_list *list)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < list->nr_user; i++) {
		stacks->is_loop[i] =
			python_process_is_loop(stacks->python.process, place_of(list->user, i));
		nr += stacks->is_loop[i];
	}
	return nr;
}

/* Appends the user's frames to *depth. complete: the native frames lead to the root. */
static int add_user(struct address_stack *stacks, const struct address_list *list, bool complete,
		    uint32_t *depth, uint32_t *lacks)
{
	const struct stack_merge_input input = {
		.is_loop = stacks->is_loop,
		.segment_end = stacks->python_frames.segment_end,
		.nr_native = list->nr_user,
		.nr_python = stacks->python_frames.nr,
		.complete = complete,
		.cut = list->python_cut,
		.mode = stacks->python.mode,
	};
	bool differ;
	int r = 0;

	uint32_t nr_loops =
		stacks->python.process && list->nr_python ? find_loops(stacks, list) : 0;
	/* Only the innermost loop may be without a frame, at its start or end. */
	if (input.nr_python == 0 && nr_loops > 1)
		*lacks |= ADDRESS_STACK_NO_PYTHON;
	uint32_t nr = stack_merge(&input, stacks->items, &differ);
	if (differ)
		*lacks |= ADDRESS_STACK_MISMATCH;
	if (input.nr_python && list->python_cut)
		*lacks |= ADDRESS_STACK_TRUNCATED;
	for (uint32_t i = 0; i < nr && r == 0; i++)
		r = item_frame(stacks, list, &stacks->items[i], &stacks->frames[(*depth)++]);
	return r;
}

static int resolve(struct address_stack *stacks, const struct address_list *list, bool complete,
		   uint32_t *node_id, uint32_t *lacks)
{
	uint32_t depth = 0;
	int r = read_python(stacks, list, lacks);

	for (uint32_t i = 0; i < list->nr_kernel && r == 0; i++)
		r = kernel_frame(stacks, place_of(list->kernel, i), &stacks->frames[depth++]);
	if (r == 0)
		r = add_user(stacks, list, complete, &depth, lacks);
	if (r || depth == 0)
		return r;
	return stack_dictionary_add_stack(stacks->outputs->stacks, stacks->frames, depth,
					  &stacks->node_budget, node_id);
}

/* ---- passes ------------------------------------------------------------------------------------- */

void address_stack_begin_pass(struct address_stack *stacks)
{
	stacks->may_read = true;
}

static void find_python(struct address_stack *stacks)
{
	const struct address_stack_python *python = &stacks->python;
	struct sample_python where;

	if (python->process && python_process_find(python->process, stacks->modules, &where))
		python->publish(python->context, &where);
}

static bool is_early(const struct address_stack *stacks)
{
	return stacks->python.process &&
	       python_process_state(stacks->python.process) == PYTHON_PROCESS_EARLY;
}

/* Where mappings have changed, known addresses may lie in other files. */
static void reread(struct address_stack *stacks, uint32_t code_pages)
{
	bool same = stacks->has_read && stacks->code_pages == code_pages;

	if (!stacks->may_read || (same && !is_early(stacks)))
		return;
	stacks->may_read = false;
	if (!module_table_reread(stacks->modules))
		return;
	stacks->has_read = true;
	stacks->code_pages = code_pages;
	forget_all(stacks);
	find_python(stacks);
}

/* ---- copies of stacks --------------------------------------------------------------------------- */

struct rules_visit {
	struct foreign_file_visit visit; /* first */
	struct unwind_file *file;        /* owns, until it is taken; NULL: the file has no rules */
};

static void look_for_rules(struct foreign_file_visit *visit, struct elf_file *file)
{
	((struct rules_visit *)visit)->file = unwind_file_map(file);
}

static void destroy_rules_visit(struct foreign_file_visit *visit)
{
	unwind_file_unmap(((struct rules_visit *)visit)->file);
	free(visit);
}

/* A file that cannot be opened has no rules. A file whose file system does not answer may get some later. */
static bool add_rules(struct address_stack *stacks, uint64_t address, uint32_t module_id)
{
	struct rules_visit *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return false;
	struct foreign_file_visit *visit = &rules->visit;
	visit->look = look_for_rules;
	visit->destroy = destroy_rules_visit;
	int r = module_table_visit(stacks->modules, address, &visit);
	if (!visit)
		return false;
	bool known = r != -EHOSTDOWN && r != -EAGAIN;
	uid_t user = visit->view.user;
	bool may_hang = r == 0 && visit->call.run && foreign_file_may_hang(&visit->entry, user);
	if (known)
		known = unwind_files_add(stacks->files, module_id, rules->file,
					 may_hang ? visit->entry.device : 0, user) == 0;
	free(visit);
	return known;
}

static bool find_rule(void *context, uint64_t address, uint32_t *rule)
{
	struct address_stack *stacks = context;
	struct message_frame frame;

	if (module_table_find(stacks->modules, address, &frame) ||
	    frame.module == MESSAGE_FRAME_NO_MODULE)
		return false;
	if (!unwind_files_has(stacks->files, frame.module) &&
	    !add_rules(stacks, address, frame.module))
		return false;
	return unwind_files_find(stacks->files, frame.module, frame.offset, rule);
}

/* Opens the files of code now, so that they have names and rules when the process is gone. */
static void open_files(struct address_stack *stacks)
{
	struct maps_file_entry entry;
	const char *text;
	size_t size;
	uint32_t rule;

	module_table_text(stacks->modules, &text, &size);
	for (uint32_t i = 0; i < PREPARED_MAX && maps_file_next(&text, &size, &entry);)
		if (entry.executable && (entry.path_size || entry.vdso)) {
			find_rule(stacks, entry.start, &rule);
			i++;
		}
}

void address_stack_prepare(struct address_stack *stacks)
{
	if (!module_table_reread(stacks->modules))
		return;
	if (stacks->files)
		open_files(stacks);
	find_python(stacks);
}

/* Replaces the user's addresses by the walk of the copy if that leads farther. Returns whether it leads to the root. */
static bool walk_copy(struct address_stack *stacks, struct address_list *list)
{
	bool complete;
	uint32_t max = ADDRESS_STACK_DEPTH_MAX - list->nr_kernel;
	uint32_t nr = stack_copy_walk(&list->copy, find_rule, stacks, stacks->walked,
				      max < WALK_MAX ? max : WALK_MAX, &complete);

	if (!complete && nr < list->nr_user)
		return false;
	list->user = stacks->walked;
	list->nr_user = nr;
	return complete;
}

static bool cut_to_leaf(struct address_list *list)
{
	bool has_more = list->nr_user > 1 || list->nr_python || list->copy.size;

	list->nr_user = list->nr_user ? 1 : 0;
	list->nr_python = 0;
	list->copy.size = 0;
	return has_more;
}

int address_stack_find(struct address_stack *stacks, const struct address_list *given,
		       uint32_t *node_id, uint32_t *lacks)
{
	struct address_list walked = *given, *list = &walked;
	bool complete = false;

	*node_id = STACK_NODE_NONE;
	*lacks = 0;
	if (list->nr_user + list->nr_kernel > ADDRESS_STACK_DEPTH_MAX ||
	    list->nr_python > SAMPLE_PYTHON_DEPTH)
		return 0;
	bool hurried = list->in_haste && cut_to_leaf(list);
	if (list->nr_user && !list->in_haste)
		reread(stacks, list->code_pages);
	if (list->copy.size && stacks->files)
		complete = walk_copy(stacks, list);
	uint64_t digest = digest_of(list);
	uint32_t id = hash_index_find(&stacks->index, hash_index_hash_word(digest), has_digest,
				      stacks, &digest);
	if (id) {
		const struct known *known = &stacks->known[id - 1];

		*node_id = known->node_id;
		*lacks = known->lacks | (hurried ? ADDRESS_STACK_HURRIED : 0);
		return 0;
	}
	int r = resolve(stacks, list, complete, node_id, lacks);
	if (r == -ENOMEM)
		return r;
	if (r)
		*node_id = STACK_NODE_NONE;
	/* Frames that could not be read may be readable the next time, or differ, so the stack is not remembered. */
	const struct python_process_frames *python = &stacks->python_frames;
	if (!list->nr_python || (!python->unread && !python->by_address))
		remember(stacks, digest, *node_id, *lacks);
	*lacks |= hurried ? ADDRESS_STACK_HURRIED : 0;
	return 0;
}
