#include "backward_path.h"

#include <ctype.h>
#include <string.h>

#include "frame_text.h"

#include "aggregator/profile/catalog.h"
#include "proto/backward_frame.h"
#include "proto/stack_word.h"

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
#define OPERATORS_FILE   "libtorch_cpu." /* autograd's part of each operator is in it */
static const char *const function_names[] = {"THPFunction_apply", NULL};
static const char *const waiting_names[] = {BACKWARD_FRAME_CALLERS, NULL};

static bool is_python(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text name;

	return frame_text_python(catalog, node_id, &name).size > 0;
}

bool backward_path_is_node(const struct catalog *catalog, uint32_t node_id)
{
	return frame_text_begins(frame_text_mark(catalog, node_id), BACKWARD_FRAME);
}

/* The first words of overloads that do not begin with a capital, as in "sum_dim_IntList" and "select_int". From
 * aten/src/ATen/native/native_functions.yaml of PyTorch 2.11. "forward": nll_loss dispatches to nll_loss_forward. */
static const char *const overload_words[] = {
	"out",   "int",     "dim",        "dims",   "dimname",  "names",   "self",     "source",
	"dtype", "device",  "correction", "stable", "nd",       "vec",     "unbiased", "mode",
	"value", "padding", "using",      "other",  "decimals", "forward", NULL};

/* Returns whether `text` may follow an operator's name: "", "_" of an operation in place, and an overload's name. */
static bool is_overload(const char *text, uint32_t size)
{
	uint32_t length = 0;

	if (size > 1 && text[0] == '_' && text[1] == '_')
		text++, size--;
	if (size == 0 || (size == 1 && text[0] == '_'))
		return true;
	if (text[0] != '_')
		return false;
	text++, size--;
	while (length < size && text[length] != '_')
		length++;
	for (const char *const *word = overload_words; *word; word++)
		if (strlen(*word) == length && memcmp(*word, text, length) == 0)
			return true;
	return isupper((unsigned char)text[0]);
}

/* Returns whether an operator's name, "_log_softmax" or "mul_Tensor", is that of a node, "LogSoftmax" or "Mul". */
static bool is_operator_of(const struct frame_text *name, const struct frame_text *node)
{
	uint32_t at = 0, matched = 0;

	for (; at < name->size && matched < node->size; at++) {
		if (name->data[at] == '_')
			continue;
		if (tolower((unsigned char)name->data[at]) !=
		    tolower((unsigned char)node->data[matched++]))
			return false;
	}
	return matched == node->size && is_overload(name->data + at, name->size - at);
}

/* Finds the next operator in a symbol, from `from` on. */
static bool next_operator(const struct frame_text *symbol, const char **from,
			  struct frame_text *name)
{
	const char *end = symbol->data + symbol->size;
	const struct frame_text rest = {*from, (uint32_t)(end - *from)};
	const char *mangled = frame_text_find(rest, OPERATOR_MANGLED);
	const char *plain = mangled ? NULL : frame_text_find(rest, OPERATOR_PLAIN);
	uint32_t length = 0;

	if (!mangled && !plain)
		return false;
	*name = (struct frame_text){
		mangled ? mangled + strlen(OPERATOR_MANGLED) : plain + strlen(OPERATOR_PLAIN), 0};
	while (mangled && name->data < end && isdigit((unsigned char)*name->data) && length < 1000)
		length = 10 * length + (uint32_t)(*name->data++ - '0');
	while (name->data + name->size < end && (!mangled || name->size < length) &&
	       (isalnum((unsigned char)name->data[name->size]) || name->data[name->size] == '_'))
		name->size++;
	*from = name->data;
	return true;
}

/* Returns whether an operator's name is that of one that changes its first argument: "mul__Tensor", "copy_",
 * "__iand___Scalar". A capital or another word of an overload follows one "_" of its own. */
static bool is_in_place(const struct frame_text *name)
{
	struct frame_text rest = *name;

	if (frame_text_begins(*name, "__"))
		return frame_text_begins(*name, "__i");
	if (rest.size && *rest.data == '_')
		rest.data++, rest.size--;
	return frame_text_ends(rest, "_") || frame_text_find(rest, "__");
}

/* node: NULL for an operation in place. */
static bool names_operator(const struct frame_text *symbol, const struct frame_text *node)
{
	const char *from = symbol->data;
	struct frame_text name;

	while (next_operator(symbol, &from, &name))
		if (node ? is_operator_of(&name, node) : is_in_place(&name))
			return true;
	return false;
}

/* Takes "AddmmBackward0" as "Addmm". false: not such a name. */
static bool take_operation(struct frame_text *node)
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

/* Returns whether a node is torch.autograd.Function's call of a forward function. Before CPython 3.11 the call of a
 * backward function has the same name; there it is the outermost one of the engine's thread. */
static bool is_custom_apply(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text name, file = frame_text_python(catalog, node_id, &name);

	if (!frame_text_ends(file, BACKWARD_FRAME_APPLY_FILE))
		return false;
	if (frame_text_equals(name, BACKWARD_FRAME_APPLY))
		return true;
	uint32_t outer = frame_text_equals(name, BACKWARD_FRAME_APPLY_OLD)
				 ? frame_text_parent(catalog, node_id)
				 : 0;
	while (outer && !is_python(catalog, outer))
		outer = frame_text_parent(catalog, outer);
	return outer != 0;
}

/* Returns whether a stack is that of a thread which waits for the backward pass, and not a forward operation's. */
static bool is_caller(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text name, file = frame_text_python(catalog, node_id, &name);
	const char *directory = frame_text_find(file, BACKWARD_FRAME_DIRECTORY);

	if (!directory || (directory > file.data && directory[-1] != '/'))
		return false;
	for (const char *const *waiting = waiting_names; *waiting; waiting++)
		if (frame_text_equals(name, *waiting))
			return true;
	return false;
}

/* Takes the node's name off its frame's text. false: it has none. */
static bool take_name(const struct catalog *catalog, uint32_t node_id, struct frame_text *name)
{
	const uint32_t prefix = (uint32_t)strlen(BACKWARD_FRAME " ");

	*name = frame_text_mark(catalog, node_id);
	if (name->size <= prefix)
		return false;
	name->data += prefix;
	name->size -= prefix;
	return true;
}

static bool is_custom(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text name;

	return take_name(catalog, node_id, &name) && frame_text_equals(name, BACKWARD_FRAME_CUSTOM);
}

uint32_t backward_path_forward(const struct catalog *catalog, uint32_t node_id)
{
	uint32_t outer = frame_text_parent(catalog, node_id), python = 0, call = 0;

	for (uint32_t id = outer; id; id = frame_text_parent(catalog, id)) {
		if (!python && backward_path_is_node(catalog, id))
			return backward_path_forward(catalog, id);
		if (!python && is_python(catalog, id))
			python = id;
		if (is_custom_apply(catalog, id))
			call = id;
	}
	if (call && is_custom(catalog, node_id))
		return frame_text_parent(catalog, call);
	return python ? python : outer;
}

static bool is_one_of(const struct catalog *catalog, uint32_t node_id, const char *const *names)
{
	struct frame_text symbol = frame_text_symbol(catalog, node_id);

	for (; *names; names++)
		if (frame_text_find(symbol, *names))
			return true;
	return false;
}

/* Returns whether a mark stands for frames that are missing, or says that others may be wrong. */
static bool is_lack(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text text = frame_text_mark(catalog, node_id);

	for (int mark = STACK_MARK_MISSING; mark < STACK_MARKS; mark++)
		if (frame_text_equals(text, stack_word_mark_name((enum stack_mark)mark)))
			return true;
	return false;
}

/* Returns whether a native frame is of an operator, or of another part of autograd that may call Python functions from
 * within one: hooks of saved tensors, __torch_dispatch__, torch.autograd.Function. The engine's frames are none. */
static bool is_operators(const struct catalog *catalog, uint32_t node_id)
{
	const struct catalog_frame *frame = frame_text_frame(catalog, node_id);
	struct frame_text symbol = frame_text_symbol(catalog, node_id), path;

	if (frame->code || is_one_of(catalog, node_id, engine_names))
		return false;
	path.data =
		catalog_string(catalog, catalog_module(catalog, frame->module)->path, &path.size);
	return frame_text_begins(frame_text_base(path), OPERATORS_FILE) ||
	       frame_text_find(symbol, OPERATOR_MANGLED) ||
	       frame_text_find(symbol, OPERATOR_PLAIN) ||
	       is_one_of(catalog, node_id, function_names);
}

/* Returns whether no operator has called the Python function of this node, as far as all frames tell. */
static bool is_outside_operators(const struct catalog *catalog, uint32_t node_id)
{
	for (uint32_t id = node_id; id; id = frame_text_parent(catalog, id))
		if (is_lack(catalog, id) || is_operators(catalog, id) ||
		    is_custom_apply(catalog, id))
			return false;
	return true;
}

/* Returns the innermost node of the forward stack, from node_id on, that is a Python frame or [backward] NODE; 0:
 * there is none. *named: a frame before it names the operation; NULL stands for one in place. *lacks: frames are
 * missing. */
static uint32_t pass_natives(const struct catalog *catalog, uint32_t node_id,
			     const struct frame_text *operation, bool *named, bool *lacks)
{
	uint32_t id = node_id;

	*named = *lacks = false;
	for (; id && !is_python(catalog, id) && !backward_path_is_node(catalog, id);
	     id = frame_text_parent(catalog, id)) {
		struct frame_text symbol = frame_text_symbol(catalog, id);

		*named |= names_operator(&symbol, operation);
		*lacks |= is_lack(catalog, id);
	}
	return id;
}

/* Returns whether a function of the user's own was called in the forward stack itself. */
static bool has_custom_apply(const struct catalog *catalog, uint32_t node_id)
{
	for (uint32_t id = node_id; id && !backward_path_is_node(catalog, id);
	     id = frame_text_parent(catalog, id))
		if (is_custom_apply(catalog, id))
			return true;
	return false;
}

/* Returns whether the line that readers see is the operation's. A node of a derivative's derivative was made where the
 * first derivative's node was evaluated: its operation's frames stand between the two, and the line is the other's.
 *
 * The guest has found the stack of CopySlices under the number before the node's, so that the operation's call is in
 * it. What is left to show is that the innermost Python frame is the one that made the call, and no hook within it. */
static bool is_proven(const struct catalog *catalog, uint32_t node_id)
{
	const uint32_t forward = frame_text_parent(catalog, node_id);
	struct frame_text node;
	bool named, lacks;

	if (!forward || is_caller(catalog, forward))
		return true;
	if (!take_name(catalog, node_id, &node) || frame_text_ends(node, BACKWARD_FRAME_NEAR))
		return false;
	if (is_custom(catalog, node_id))
		return has_custom_apply(catalog, forward);
	bool in_place = frame_text_equals(node, BACKWARD_FRAME_IN_PLACE);
	if (!in_place && !take_operation(&node))
		return false;
	uint32_t outer = pass_natives(catalog, forward, in_place ? NULL : &node, &named, &lacks);
	if (!named)
		return false;
	if (outer && backward_path_is_node(catalog, outer))
		return is_proven(catalog, outer);
	return !in_place || (!lacks && outer && is_outside_operators(catalog, outer));
}

bool backward_path_needs_mark(const struct catalog *catalog, uint32_t node_id)
{
	struct frame_text node;

	return !(take_name(catalog, node_id, &node) &&
		 frame_text_ends(node, BACKWARD_FRAME_NEAR)) &&
	       !is_proven(catalog, node_id);
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
