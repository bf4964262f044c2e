#include "model_graph.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash_index.h"

#define FILE_COMMENT "# File: "
#define NO_FILE      "# No stacktrace found"
#define CODE         ", code: "

struct model_graph {
	struct model_node *nodes; /* owns */
	uint32_t count, room;
	struct hash_index index; /* of nodes, + 1 */
	bool nested;
};

/* Reads "/home/alice/model.py:57 in forward, code: …". A path may have blanks, colons and " in ", a name none. */
static struct source_line read_source(struct text_span comment)
{
	struct text_span place = text_span_before(comment, CODE, NULL), number;
	struct source_line source = {0};
	bool found;

	source.function = text_span_behind_last(place, " in ", &found);
	if (!found)
		return (struct source_line){0};
	place = text_span_before_last(place, " in ", NULL);
	number = text_span_behind_last(place, ":", &found);
	source.file = text_span_before_last(place, ":", NULL);
	if (!found || !text_span_number(&number, &source.line) || number.size > 0)
		return (struct source_line){0};
	return source;
}

/* Reads "relu: "f32[8]" = torch.ops.aten.relu.default(add);  add = None". The type may be missing. */
static bool read_node(struct text_span line, struct model_node *node)
{
	bool found;
	struct text_span left = text_span_before(line, " = ", &found);
	struct text_span right = text_span_behind(line, " = ", NULL);

	if (!found)
		return false;
	node->name = text_span_trim(text_span_before(left, ":", NULL));
	right = text_span_before(right, ";", NULL);
	node->target = text_span_before(text_span_before(right, "(", NULL), "[", NULL);
	return node->name.size > 0 && node->name.data[0] != '#' && node->target.size > 0;
}

static bool has_name(const void *context, uint32_t id, const void *key)
{
	const struct model_graph *graph = context;

	return text_span_equals(graph->nodes[id - 1].name, *(const struct text_span *)key);
}

static bool add_node(struct model_graph *graph, const struct model_node *node)
{
	if (graph->count == MODEL_GRAPH_NODES_MAX ||
	    array_reserve(&graph->nodes, &graph->room, graph->count + 1ull, sizeof(*graph->nodes)))
		return false;
	graph->nodes[graph->count++] = *node;
	return hash_index_insert(&graph->index, hash_index_hash(node->name.data, node->name.size),
				 graph->count) == 0;
}

static bool read_nodes(struct model_graph *graph, struct text_span text)
{
	struct model_node node = {0};
	struct text_span line;
	uint32_t nr_classes = 0;

	while (text_span_line(&text, &line)) {
		line = text_span_trim(line);
		if (text_span_begins(line, "class ") && ++nr_classes > 1) {
			graph->nested = true;
			return true;
		}
		if (text_span_begins(line, FILE_COMMENT))
			node.source = read_source(text_span_behind(line, FILE_COMMENT, NULL));
		else if (text_span_begins(line, NO_FILE))
			node.source = (struct source_line){0};
		else if (!text_span_begins(line, "def ") && read_node(line, &node) &&
			 !model_graph_find(graph, node.name) && !add_node(graph, &node))
			return false;
	}
	return true;
}

struct model_graph *model_graph_create(struct text_span text)
{
	struct model_graph *graph = calloc(1, sizeof(*graph));

	if (graph && !read_nodes(graph, text)) {
		model_graph_destroy(graph);
		return NULL;
	}
	return graph;
}

void model_graph_destroy(struct model_graph *graph)
{
	if (!graph)
		return;
	hash_index_fini(&graph->index);
	free(graph->nodes);
	free(graph);
}

bool model_graph_is_nested(const struct model_graph *graph)
{
	return graph->nested;
}

uint32_t model_graph_count(const struct model_graph *graph)
{
	return graph->count;
}

const struct model_node *model_graph_node(const struct model_graph *graph, uint32_t index)
{
	return &graph->nodes[index];
}

const struct model_node *model_graph_find(const struct model_graph *graph, struct text_span name)
{
	uint32_t hash = hash_index_hash(name.data, name.size);
	uint32_t id = hash_index_find(&graph->index, hash, has_name, graph, &name);

	return id ? &graph->nodes[id - 1] : NULL;
}
