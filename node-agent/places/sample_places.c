#include "sample_places.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_names.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"

#define OFFSET_TEXT_MAX 32u

/* What tells places apart. Hashed as bytes: it has no gap. */
struct key {
	const void *function; /* of the code; NULL: its lines are not known */
	uint32_t name_id, launch, line, offset;
};

static_assert(sizeof(struct key) == sizeof(void *) + 4 * sizeof(uint32_t), "no gap");

struct known {
	struct key key;
	uint32_t stack_id;
	enum sample_place place;
};

struct sample_places {
	struct string_dictionary *strings; /* borrowed */
	struct stack_dictionary *stacks;   /* borrowed */
	struct sample_names names;
	struct hash_index index; /* of the known, + 1 */
	struct known *known;     /* owns */
	uint32_t nr_known, room;
	uint32_t node_budget;
};

struct sample_places *sample_places_create(struct string_dictionary *strings,
					   struct stack_dictionary *stacks)
{
	struct sample_places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->strings = strings;
	places->stacks = stacks;
	places->node_budget = SAMPLE_PLACES_MAX;
	return places;
}

void sample_places_destroy(struct sample_places *places)
{
	if (!places)
		return;
	sample_names_fini(&places->names);
	hash_index_fini(&places->index);
	free(places->known);
	free(places);
}

void sample_places_close(struct sample_places *places)
{
	places->node_budget = 0;
	sample_names_close(&places->names);
}

int sample_places_kernel(struct sample_places *places, const char *name,
			 struct sample_kernel *kernel)
{
	struct message_code code = {0};
	int r = sample_names_kernel(&places->names, places->strings, name, strlen(name),
				    &code.name);

	kernel->name_id = kernel->code_id = 0;
	if (r == 0)
		r = stack_dictionary_add_code(places->stacks, code, &kernel->code_id);
	if (r == 0)
		kernel->name_id = code.name;
	return r == -ENOMEM ? r : 0;
}

/* Enters the frame of a line. Of a function without a name it has the kernel's. */
static int enter_line(struct sample_places *places, const struct sample_kernel *kernel,
		      const struct cubin_frame *line, struct message_frame *frame)
{
	struct message_code code = {.name = kernel->name_id};
	int r = 0;

	if (line->file)
		r = sample_names_line(&places->names, places->strings, line->file, &code.file);
	if (r == 0 && line->function)
		r = sample_names_line(&places->names, places->strings, line->function, &code.name);
	*frame = (struct message_frame){.offset = line->file ? line->line : 0};
	return r ? r : stack_dictionary_add_code(places->stacks, code, &frame->code);
}

/* Enters frames within the kernel, leaf first, of which depth are there; the array has room for the kernel's. */
static int enter_stack(struct sample_places *places, const struct sample_kernel *kernel,
		       struct message_frame *frames, uint32_t depth, uint32_t *stack_id)
{
	frames[depth] = (struct message_frame){.code = kernel->code_id, .offset = kernel->line};
	return stack_dictionary_add_within(places->stacks, kernel->launch, frames, depth + 1,
					   &places->node_budget, stack_id);
}

/* New names make new nodes, so nothing is entered unless there is room for all nodes. */
static bool has_nodes(const struct sample_places *places, size_t depth)
{
	return places->node_budget >= depth + 1;
}

static int find_lines(struct sample_places *places, const struct sample_kernel *kernel,
		      const struct cubin_frame *chain, size_t count, uint32_t *stack_id)
{
	struct message_frame frames[CUBIN_FRAMES_MAX + 1];
	int r = has_nodes(places, count) ? 0 : -ENOSPC;

	for (size_t i = 0; i < count && r == 0; i++)
		r = enter_line(places, kernel, &chain[i], &frames[i]);
	return r ? r : enter_stack(places, kernel, frames, (uint32_t)count, stack_id);
}

static int find_offset(struct sample_places *places, const struct sample_kernel *kernel,
		       uint32_t offset, uint32_t *stack_id)
{
	struct message_frame frames[2] = {0};
	struct message_code code = {0};
	char text[OFFSET_TEXT_MAX];
	int r = has_nodes(places, 1) ? 0 : -ENOSPC;

	const int size = snprintf(text, sizeof(text), "+0x%x", offset);
	if (r == 0)
		r = sample_names_kernel(&places->names, places->strings, text, (size_t)size,
					&code.name);
	if (r == 0)
		r = stack_dictionary_add_code(places->stacks, code, &frames[0].code);
	return r ? r : enter_stack(places, kernel, frames, 1, stack_id);
}

/* Looks a place up for the first time: its lines, else its offset, else the kernel itself. */
static int look_up(struct sample_places *places, const struct sample_kernel *kernel,
		   uint32_t offset, struct known *known)
{
	struct cubin_frame chain[CUBIN_FRAMES_MAX];
	struct message_frame frame;
	const size_t count = cubin_code_find(kernel->code, offset, chain);
	int r = count ? find_lines(places, kernel, chain, count, &known->stack_id) : -ENOSPC;

	known->place = SAMPLE_PLACE_WHOLE;
	if (r && r != -ENOMEM) {
		known->place = count ? SAMPLE_PLACE_NO_LINES : SAMPLE_PLACE_WHOLE;
		r = find_offset(places, kernel, offset, &known->stack_id);
	}
	if (r && r != -ENOMEM) {
		known->place = SAMPLE_PLACE_NONE;
		r = enter_stack(places, kernel, &frame, 0, &known->stack_id);
	}
	return r == -ENOMEM ? r : 0;
}

static bool is_key(const void *context, uint32_t id, const void *key)
{
	const struct sample_places *places = context;

	return memcmp(&places->known[id - 1].key, key, sizeof(struct key)) == 0;
}

/* A place for which there is no room is the kernel itself, which is known before long. */
static int remember(struct sample_places *places, const struct sample_kernel *kernel, uint32_t hash,
		    struct known *known)
{
	struct message_frame frame;
	int r;

	if (places->nr_known == SAMPLE_PLACES_MAX) {
		known->place = SAMPLE_PLACE_NONE;
		r = enter_stack(places, kernel, &frame, 0, &known->stack_id);
		return r == -ENOMEM ? r : 0;
	}
	if (array_reserve(&places->known, &places->room, places->nr_known + 1ull,
			  sizeof(*places->known)))
		return -ENOMEM;
	r = look_up(places, kernel, known->key.offset, known);
	if (r)
		return r;
	places->known[places->nr_known++] = *known;
	return hash_index_insert(&places->index, hash, places->nr_known);
}

int sample_places_find(struct sample_places *places, const struct sample_kernel *kernel,
		       uint32_t offset, uint32_t *stack_id, enum sample_place *place)
{
	struct known known = {.key = {.function = kernel->code.function,
				      .name_id = kernel->name_id,
				      .launch = kernel->launch,
				      .line = kernel->line,
				      .offset = offset},
			      .place = SAMPLE_PLACE_NONE};
	int r = 0;

	if (kernel->name_id != STRING_NONE) {
		const uint32_t hash = hash_index_hash(&known.key, sizeof(known.key));
		const uint32_t id =
			hash_index_find(&places->index, hash, is_key, places, &known.key);

		if (id)
			known = places->known[id - 1];
		else
			r = remember(places, kernel, hash, &known);
	}
	*stack_id = r ? STACK_NODE_NONE : known.stack_id;
	*place = known.place;
	return r;
}
