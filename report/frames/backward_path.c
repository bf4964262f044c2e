#include "backward_path.h"

#include <ctype.h>
#include <string.h>

#include "aggregator/profile/catalog.h"

#define NODE_PREFIX "[backward]"

/* Parts of mangled and of demangled names. */
static const char *const engine_names[] = {
	"5torch8autograd6Engine",
	"torch::autograd::Engine::",
	"5torch8autograd6python12PythonEngine",
	"torch::autograd::python::PythonEngine::",
	"5torch8autograd4Nodecl",
	"torch::autograd::Node::operator()",
	"5torch8autograd9GraphTask",
	"torch::autograd::GraphTask::",
	NULL,
};

/* DistributedDataParallel. What it calls is of the same namespace. */
#define REDUCER "[gradient all-reduce]"
static const char *const reducer_names[] = {"4c10d7Reducer", "c10d::Reducer", NULL};
static const char *const communication_names[] = {"4c10d", "c10d::", NULL};
#define OPERATOR_MANGLED "N2at4_ops"
#define OPERATOR_PLAIN   "at::_ops::"
#define FUNCTION_SUFFIX  "Backward"
#define ENGINE_FILES     "torch/autograd/"
#define CUSTOM_FUNCTION  "PyNode" /* of torch.autograd.Function in Python */
#define CUSTOM_APPLY     "Function.apply"
#define CUSTOM_FILE      "torch/autograd/function.py"

struct text {
	const char *data;
	uint32_t size;
};

static const struct catalog_frame *frame_of(const struct catalog *catalog, uint32_t node_id)
{
	return catalog_frame(catalog, catalog_node(catalog, node_id)->frame);
}

static uint32_t parent_of(const struct catalog *catalog, uint32_t node_id)
{
	return catalog_node(catalog, node_id)->parent;
}

static bool is_python(const struct catalog *catalog, uint32_t node_id)
{
	const struct catalog_frame *frame = frame_of(catalog, node_id);

	return frame->code && catalog_code(catalog, frame->code)->file;
}

/* Returns the text of a frame without a file; empty: it has one. */
static struct text mark_of(const struct catalog *catalog, uint32_t node_id)
{
	const struct catalog_frame *frame = frame_of(catalog, node_id);
	struct text text = {"", 0};

	if (frame->code && !catalog_code(catalog, frame->code)->file)
		text.data = catalog_string(catalog, catalog_code(catalog, frame->code)->name,
					   &text.size);
	return text;
}

/* Returns the symbol of a native frame; empty: it is another frame, or has none. */
static struct text symbol_of(const struct catalog *catalog, uint32_t node_id)
{
	const struct catalog_frame *frame = frame_of(catalog, node_id);
	struct text text = {"", 0};

	if (!frame->code)
		text.data = catalog_string(catalog, frame->name, &text.size);
	return text;
}

static const char *find(const struct text *text, const char *part)
{
	return text->size ? memmem(text->data, text->size, part, strlen(part)) : NULL;
}

bool backward_path_is_node(const struct catalog *catalog, uint32_t node_id)
{
	struct text text = mark_of(catalog, node_id);

	return text.size >= strlen(NODE_PREFIX) &&
	       memcmp(text.data, NODE_PREFIX, strlen(NODE_PREFIX)) == 0;
}

/* Returns whether an operator's name, "_log_softmax" or "mul_Tensor", is that of a node, "LogSoftmax" or "Mul". What
 * follows an underscore may be an overload's name. */
static bool is_operator_of(const struct text *name, const struct text *node)
{
	uint32_t at = 0, matched = 0;

	for (; at < name->size && matched < node->size; at++) {
		if (name->data[at] == '_')
			continue;
		if (tolower((unsigned char)name->data[at]) !=
		    tolower((unsigned char)node->data[matched++]))
			return false;
	}
	return matched == node->size && (at == name->size || name->data[at] == '_');
}

/* Finds the next operator in a symbol, from `from` on. */
static bool next_operator(const struct text *symbol, const char **from, struct text *name)
{
	const char *end = symbol->data + symbol->size;
	const struct text rest = {*from, (uint32_t)(end - *from)};
	const char *mangled = find(&rest, OPERATOR_MANGLED);
	const char *plain = mangled ? NULL : find(&rest, OPERATOR_PLAIN);
	uint32_t length = 0;

	if (!mangled && !plain)
		return false;
	*name = (struct text){
		mangled ? mangled + strlen(OPERATOR_MANGLED) : plain + strlen(OPERATOR_PLAIN), 0};
	while (mangled && name->data < end && isdigit((unsigned char)*name->data) && length < 1000)
		length = 10 * length + (uint32_t)(*name->data++ - '0');
	while (name->data + name->size < end && (!mangled || name->size < length) &&
	       (isalnum((unsigned char)name->data[name->size]) || name->data[name->size] == '_'))
		name->size++;
	*from = name->data;
	return true;
}

static bool names_operator(const struct text *symbol, const struct text *node)
{
	const char *from = symbol->data;
	struct text name;

	while (next_operator(symbol, &from, &name))
		if (is_operator_of(&name, node))
			return true;
	return false;
}

/* Takes "AddmmBackward0" as "Addmm". false: not such a name. */
static bool take_operation(struct text *node)
{
	const uint32_t size = (uint32_t)strlen(FUNCTION_SUFFIX);
	uint32_t end = node->size;

	while (end > 0 && isdigit((unsigned char)node->data[end - 1]))
		end--;
	if (end <= size || memcmp(node->data + end - size, FUNCTION_SUFFIX, size) != 0)
		return false;
	node->size = end - size;
	return true;
}

static bool ends_with(const struct text *text, const char *end)
{
	size_t size = strlen(end);

	return text->size >= size && memcmp(text->data + text->size - size, end, size) == 0;
}

/* Returns the file and the function of a Python frame; empty: it is another frame. */
static struct text file_of(const struct catalog *catalog, uint32_t node_id, struct text *name)
{
	struct text file = {"", 0};

	*name = file;
	if (!is_python(catalog, node_id))
		return file;
	const struct catalog_code *code = catalog_code(catalog, frame_of(catalog, node_id)->code);
	file.data = catalog_string(catalog, code->file, &file.size);
	name->data = catalog_string(catalog, code->name, &name->size);
	return file;
}

/* Returns whether a node is torch.autograd.Function's call of a forward function. */
static bool is_custom_apply(const struct catalog *catalog, uint32_t node_id)
{
	struct text name, file = file_of(catalog, node_id, &name);

	return ends_with(&name, CUSTOM_APPLY) && ends_with(&file, CUSTOM_FILE);
}

/* Returns whether a stack is that of a thread which waits for the backward pass, and not a forward operation's. */
static bool is_caller(const struct catalog *catalog, uint32_t node_id)
{
	struct text name, file = file_of(catalog, node_id, &name);

	return find(&file, ENGINE_FILES) != NULL;
}

/* Takes the node's name off its frame's text. false: it has none. */
static bool take_name(const struct catalog *catalog, uint32_t node_id, struct text *name)
{
	const uint32_t prefix = (uint32_t)strlen(NODE_PREFIX " ");

	*name = mark_of(catalog, node_id);
	if (name->size <= prefix)
		return false;
	name->data += prefix;
	name->size -= prefix;
	return true;
}

static bool is_custom(const struct catalog *catalog, uint32_t node_id)
{
	struct text name;

	return take_name(catalog, node_id, &name) && name.size == strlen(CUSTOM_FUNCTION) &&
	       ends_with(&name, CUSTOM_FUNCTION);
}

uint32_t backward_path_forward(const struct catalog *catalog, uint32_t node_id)
{
	uint32_t outer = parent_of(catalog, node_id), python = 0, call = 0;

	for (uint32_t id = outer; id; id = parent_of(catalog, id)) {
		if (!python && is_python(catalog, id))
			python = id;
		if (is_custom_apply(catalog, id))
			call = id;
	}
	if (call && is_custom(catalog, node_id))
		return parent_of(catalog, call);
	return python ? python : outer;
}

bool backward_path_is_proven(const struct catalog *catalog, uint32_t node_id)
{
	bool custom = is_custom(catalog, node_id);
	uint32_t id = parent_of(catalog, node_id);
	struct text node;

	if (!id || is_caller(catalog, id))
		return true;
	if (!take_name(catalog, node_id, &node))
		return false;
	if (ends_with(&node, BACKWARD_PATH_UNPROVEN))
		return true;
	if (!custom && !take_operation(&node))
		return false;
	for (; id && (custom || !is_python(catalog, id)); id = parent_of(catalog, id)) {
		struct text symbol = symbol_of(catalog, id);

		if (custom ? is_custom_apply(catalog, id) : names_operator(&symbol, &node))
			return true;
	}
	return false;
}

static bool is_one_of(const struct catalog *catalog, uint32_t node_id, const char *const *names)
{
	struct text symbol = symbol_of(catalog, node_id);

	for (; *names; names++)
		if (find(&symbol, *names))
			return true;
	return false;
}

/* Returns the index of the innermost node with such a name; the count: none has one. */
static uint32_t innermost(const struct catalog *catalog, const uint32_t *nodes, uint32_t count,
			  const char *const *names)
{
	uint32_t i = 0;

	while (i < count && !is_one_of(catalog, nodes[i], names))
		i++;
	return i;
}

uint32_t backward_path_within(const struct catalog *catalog, const uint32_t *nodes, uint32_t count,
			      const char **instead)
{
	uint32_t within = innermost(catalog, nodes, count, engine_names);

	*instead = NULL;
	if (innermost(catalog, nodes, within, reducer_names) == within)
		return within;
	*instead = REDUCER;
	return innermost(catalog, nodes, within, communication_names);
}
