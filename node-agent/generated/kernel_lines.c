#include "kernel_lines.h"

#include <stdlib.h>
#include <string.h>

#include "kernel_order.h"
#include "model_graph.h"
#include "source_list.h"
#include "trace_table.h"
#include "wrapper_code.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "proto/model_lines.h"

#define NAME_SIZE_MAX                                                                              \
	256u /* bytes of a node's name in the program's graph; longer ones are left out */
#define NEAR      "\n" MODEL_LINES_NEAR
#define NEAR_SIZE (sizeof(NEAR) - 1)

struct entry {
	uint32_t line, text; /* text: offset in the texts */
};

struct kernel_lines {
	struct entry *entries; /* owns; by line */
	uint32_t count, room;
	char *texts; /* owns; each once, with NUL, and behind it room for NEAR if it has no NEAR */
	uint32_t size, texts_room;
};

/* The lines of a kernel's definition, read once: its calls may be many. */
struct definition {
	struct source_list fragment; /* those of the nodes in its comment */
	struct source_line origin;   /* of a kernel that the user wrote; line 0: it is none */
};

/* A node of the program's own graph, and its line. */
struct source_node {
	struct text_span name;
	struct source_line source;
	bool is_unclear; /* nodes of several lines have this name */
};

/* What the lines of a call are found in. */
struct sources {
	struct wrapper_code code;
	struct model_graph *graph;      /* owns; NULL: none */
	struct trace_table *traces;     /* owns; NULL: none */
	struct kernel_order *orders;    /* owns; NULL: none */
	struct definition *definitions; /* owns; one for each kernel */
	struct source_node *nodes;      /* owns */
	uint32_t nr_nodes, room_nodes;
	struct hash_index index; /* of nodes, + 1 */
};

/* ---- nodes of the program's graph */

static bool has_name(const void *context, uint32_t id, const void *key)
{
	const struct sources *sources = context;

	return text_span_equals(sources->nodes[id - 1].name, *(const struct text_span *)key);
}

static struct source_node *find_node(const struct sources *sources, struct text_span name)
{
	uint32_t hash = hash_index_hash(name.data, name.size);
	uint32_t id = hash_index_find(&sources->index, hash, has_name, sources, &name);

	return id ? &sources->nodes[id - 1] : NULL;
}

static bool add_node(struct sources *sources, struct text_span name,
		     const struct source_line *source)
{
	struct source_node *known = find_node(sources, name);

	if (known) {
		known->is_unclear = known->is_unclear || known->source.line != source->line ||
				    !text_span_equals(known->source.file, source->file);
		return true;
	}
	if (array_reserve(&sources->nodes, &sources->room_nodes, sources->nr_nodes + 1ull,
			  sizeof(*sources->nodes)))
		return false;
	sources->nodes[sources->nr_nodes++] = (struct source_node){.name = name, .source = *source};
	return hash_index_insert(&sources->index, hash_index_hash(name.data, name.size),
				 sources->nr_nodes) == 0;
}

/* Reads "#   layer_norm => add_1, mul". Nodes that a pass of Inductor's made have no name on the left. */
static bool read_mapping(struct sources *sources, struct text_span line)
{
	struct text_span name = text_span_trim(text_span_before(line, "=>", NULL)), part;
	struct text_span rest = text_span_behind(line, "=>", NULL);

	name = text_span_trim(text_span_behind(name, "#", NULL));
	while (name.size > 0 && name.size <= NAME_SIZE_MAX && text_span_part(&rest, ",", &part)) {
		const struct model_node *node =
			model_graph_find(sources->graph, text_span_trim(part));

		if (node && node->source.line && !add_node(sources, name, &node->source))
			return false;
	}
	return true;
}

static bool read_mappings(struct sources *sources)
{
	struct text_span line;

	for (uint32_t i = 0; i < sources->code.nr_kernels; i++) {
		struct text_span rest = sources->code.kernels[i].mapping;

		while (text_span_line(&rest, &line))
			if (!read_mapping(sources, line))
				return false;
	}
	return true;
}

/* ---- the lines of a definition */

static void read_fragment(const struct sources *sources, const struct wrapper_kernel *kernel,
			  struct source_list *list)
{
	struct text_span rest = kernel->fragment, line;

	while (text_span_line(&rest, &line)) {
		struct text_span name = text_span_behind(line, "%", NULL);

		if (!text_span_behind(name, " = call_function[", NULL).data)
			continue;
		name = text_span_trim(text_span_before(name, ":", NULL));
		const struct model_node *node = model_graph_find(sources->graph, name);
		if (node)
			source_list_add(list, &node->source);
	}
}

static struct source_line read_origin(const struct wrapper_kernel *kernel)
{
	struct text_span number = text_span_behind_last(kernel->origin, ":", NULL);
	struct source_line source = {
		.file = text_span_before_last(kernel->origin, ":", NULL),
		.function = kernel->function,
	};

	if (!text_span_number(&number, &source.line) || number.size > 0)
		source.line = 0;
	return source;
}

static bool read_definitions(struct sources *sources)
{
	const struct wrapper_code *code = &sources->code;

	sources->definitions = calloc(code->nr_kernels + 1ul, sizeof(*sources->definitions));
	for (uint32_t i = 0; sources->definitions && i < code->nr_kernels; i++) {
		struct definition *definition = &sources->definitions[i];

		if (sources->graph)
			read_fragment(sources, &code->kernels[i], &definition->fragment);
		definition->origin = read_origin(&code->kernels[i]);
	}
	return sources->definitions;
}

/* ---- the lines of a call */

/* Adds the line of a node that the call's own comment names. *is_near is set if the line is not proven. In a backward
 * pass most names are the graph's own, but a node of the program's graph may have the same name. */
static bool add_name(const struct sources *sources, struct text_span name, struct source_list *list,
		     bool *is_near)
{
	const struct source_node *known = find_node(sources, name);
	const struct model_node *same = known ? NULL : model_graph_find(sources->graph, name);

	if (known && !known->is_unclear)
		source_list_add(list, &known->source);
	else if (same)
		source_list_add(list, &same->source);
	*is_near = *is_near || !known;
	return same || (known && !known->is_unclear);
}

/* Adds the lines of all nodes that the call's own comment names. false: one is not known, and none was added. */
static bool add_named(const struct sources *sources, const struct wrapper_call *call,
		      struct source_list *list)
{
	struct text_span rest = wrapper_code_sources(call->comment), part;
	struct source_list found = {0};
	bool is_near = false;

	while (text_span_part(&rest, ",", &part))
		if (!add_name(sources, text_span_trim(part), &found, &is_near))
			return false;
	if (found.count == 0)
		return false;
	*list = found;
	list->is_near = is_near;
	return true;
}

static void add_kernel(const struct sources *sources, const struct wrapper_call *call,
		       struct source_list *list)
{
	const struct wrapper_kernel *kernel = &sources->code.kernels[call->kernel - 1];
	bool is_own = call->is_first && text_span_equals(call->comment, kernel->comment);

	if (!is_own && add_named(sources, call, list))
		return;
	*list = sources->definitions[call->kernel - 1].fragment;
	list->is_near = list->count > 0 && !is_own;
}

static void add_from_graph(const struct sources *sources, uint32_t index, struct source_list *list)
{
	const struct wrapper_call *call = &sources->code.calls[index];
	const struct kernel_order *order = &sources->orders[index];

	if (call->kernel) {
		add_kernel(sources, call, list);
	} else if (order->node) {
		source_list_add(list, &model_graph_node(sources->graph, order->node - 1)->source);
		list->is_near = !order->is_proven;
	} else {
		add_named(sources, call, list);
	}
	if (model_graph_is_nested(sources->graph))
		list->is_near = true;
}

static void find_lines(const struct sources *sources, uint32_t index, struct source_list *list)
{
	const struct wrapper_call *call = &sources->code.calls[index];

	memset(list, 0, sizeof(*list));
	if (sources->traces && call->handle.size > 0)
		trace_table_add(sources->traces, call->handle, list);
	if (list->count == 0 && sources->graph)
		add_from_graph(sources, index, list);
	if (call->kernel)
		source_list_add(list, &sources->definitions[call->kernel - 1].origin);
}

/* ---- all calls */

static bool ends_near(struct text_span text)
{
	return text_span_ends(text, NEAR);
}

/* Returns the bytes that a text takes, with its NUL. */
static size_t size_of(const char *text)
{
	const struct text_span span = {text, strlen(text)};

	return span.size + 1 + (ends_near(span) ? 0 : NEAR_SIZE);
}

/* The text of the entry with this id, which is its index + 1. */
static bool has_text(const void *context, uint32_t id, const void *key)
{
	const struct kernel_lines *lines = context;

	return strcmp(lines->texts + lines->entries[id - 1].text, key) == 0;
}

/* Stores a new text at the end of all. */
static bool add_text(struct kernel_lines *lines, const char *text)
{
	size_t size = size_of(text);

	if (lines->size + size > KERNEL_LINES_TEXT_MAX ||
	    array_reserve(&lines->texts, &lines->texts_room, lines->size + size, 1))
		return false;
	strcpy(lines->texts + lines->size, text);
	lines->size += (uint32_t)size;
	return true;
}

/* index: the first entry of each text, + 1. */
static bool add_entry(struct kernel_lines *lines, struct hash_index *index, uint32_t line,
		      const char *text)
{
	const uint32_t hash = hash_index_hash(text, strlen(text));
	uint32_t id = hash_index_find(index, hash, has_text, lines, text);
	struct entry entry = {line, id ? lines->entries[id - 1].text : lines->size};

	if (*text == '\0')
		return true;
	if (array_reserve(&lines->entries, &lines->room, lines->count + 1ull,
			  sizeof(*lines->entries)) ||
	    (!id && !add_text(lines, text)))
		return false;
	lines->entries[lines->count++] = entry;
	return id || hash_index_insert(index, hash, lines->count) == 0;
}

static bool add_calls(struct kernel_lines *lines, const struct sources *sources)
{
	struct hash_index index = {0};
	struct source_list list;
	char text[SOURCE_LIST_TEXT];
	bool done = true;

	for (uint32_t i = 0; done && i < sources->code.nr_calls; i++) {
		find_lines(sources, i, &list);
		source_list_write(&list, text);
		done = add_entry(lines, &index, sources->code.calls[i].line, text);
	}
	hash_index_fini(&index);
	return done;
}

static bool prepare(struct sources *sources, struct text_span graph, struct text_span traces)
{
	if (traces.size > 0 && !(sources->traces = trace_table_create(traces)))
		return false;
	if (graph.size == 0)
		return read_definitions(sources);
	sources->graph = model_graph_create(graph);
	if (!sources->graph || !read_definitions(sources))
		return false;
	sources->orders = kernel_order_make(&sources->code, sources->graph);
	return sources->orders && read_mappings(sources);
}

static void fini(struct sources *sources)
{
	wrapper_code_fini(&sources->code);
	model_graph_destroy(sources->graph);
	trace_table_destroy(sources->traces);
	free(sources->orders);
	free(sources->definitions);
	free(sources->nodes);
	hash_index_fini(&sources->index);
}

struct kernel_lines *kernel_lines_create(struct text_span code, struct text_span graph,
					 struct text_span traces)
{
	struct kernel_lines *lines = calloc(1, sizeof(*lines));
	struct sources sources = {0};

	if (!lines)
		return NULL;
	bool done = wrapper_code_init(&sources.code, code) == 0 &&
		    prepare(&sources, graph, traces) && add_calls(lines, &sources);
	fini(&sources);
	if (done)
		return lines;
	kernel_lines_destroy(lines);
	return NULL;
}

void kernel_lines_destroy(struct kernel_lines *lines)
{
	if (!lines)
		return;
	free(lines->entries);
	free(lines->texts);
	free(lines);
}

uint32_t kernel_lines_count(const struct kernel_lines *lines)
{
	return lines->count;
}

size_t kernel_lines_size(const struct kernel_lines *lines)
{
	return sizeof(*lines) + lines->room * sizeof(*lines->entries) + lines->texts_room;
}

const char *kernel_lines_next(const struct kernel_lines *lines, const char *symbol)
{
	const char *next = symbol ? symbol + size_of(symbol) : lines->texts;

	return lines->size > 0 && next < lines->texts + lines->size ? next : NULL;
}

void kernel_lines_mark_near(struct kernel_lines *lines)
{
	for (size_t at = 0; at < lines->size; at += size_of(lines->texts + at)) {
		char *text = lines->texts + at;
		size_t size = strlen(text);

		if (!ends_near((struct text_span){text, size}))
			strcpy(text + size, NEAR);
	}
}

static int compare_line(const void *key, const void *item)
{
	const struct entry *entry = item;
	uint64_t line = *(const uint64_t *)key;

	return line < entry->line ? -1 : line > entry->line;
}

const char *kernel_lines_find(const struct kernel_lines *lines, uint64_t line)
{
	const struct entry *entry = lines->count ? bsearch(&line, lines->entries, lines->count,
							   sizeof(*entry), compare_line)
						 : NULL;

	return entry ? lines->texts + entry->text : NULL;
}
