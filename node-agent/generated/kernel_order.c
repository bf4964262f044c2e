#include "kernel_order.h"

#include <stdlib.h>
#include <string.h>

#define OPERATIONS "torch.ops."
#define LIBRARIES  "extern_kernels."
#define ATEN       "aten."

/* A call, or a node, of an operation. */
struct member {
	struct text_span operation;
	bool is_node;
	uint32_t number; /* of a call's buffer; of a node in its graph */
	uint32_t index;
};

/* Operations that take each other's place: a product with a sum may be computed as a product, and the sum fused. */
static const struct {
	const char *operation, *family;
} families[] = {{"addmm", "mm"}, {"bias_addmm", "mm"}, {"baddbmm", "bmm"}};

/* Operations that PyTorch itself turns into these products. */
static const char *const products[] = {"mm",     "addmm",  "bmm",   "baddbmm",
				       "matmul", "linear", "einsum"};

static struct text_span without(struct text_span text, const char *begin)
{
	return text_span_begins(text, begin) ? text_span_behind(text, begin, NULL) : text;
}

/* Cuts "torch.ops.aten.mm.default" and "extern_kernels.mm" to "mm". size 0: it is neither. */
static struct text_span operation_of(struct text_span callee)
{
	struct text_span name;

	if (text_span_begins(callee, OPERATIONS))
		name = text_span_before_last(without(without(callee, OPERATIONS), ATEN), ".", NULL);
	else if (text_span_begins(callee, LIBRARIES))
		name = without(callee, LIBRARIES);
	else
		return TEXT_SPAN_NONE;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (text_span_equals(name, (struct text_span){families[i].operation,
							      strlen(families[i].operation)}))
			return (struct text_span){families[i].family, strlen(families[i].family)};
	return name;
}

static int compare_texts(struct text_span a, struct text_span b)
{
	if (a.size != b.size)
		return a.size < b.size ? -1 : 1;
	return a.size ? memcmp(a.data, b.data, a.size) : 0;
}

static int compare(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = compare_texts(a->operation, b->operation);

	if (order == 0)
		order = a->is_node - b->is_node;
	if (order == 0)
		order = a->number < b->number ? -1 : a->number > b->number;
	return order;
}

static uint32_t collect(const struct wrapper_code *code, const struct model_graph *graph,
			struct member *members)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < code->nr_calls; i++)
		members[count++] = (struct member){operation_of(code->calls[i].callee), false,
						   code->calls[i].buffer, i};
	for (uint32_t i = 0; i < model_graph_count(graph); i++)
		members[count++] = (struct member){operation_of(model_graph_node(graph, i)->target),
						   true, i, i};
	qsort(members, count, sizeof(*members), compare);
	return count;
}

static bool is_product(struct text_span operation)
{
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		if (text_span_equals(operation,
				     (struct text_span){products[i], strlen(products[i])}))
			return true;
	return false;
}

/* Returns whether the comment of a call names the operation. */
static bool names(const struct wrapper_call *call, struct text_span operation)
{
	struct text_span rest = wrapper_code_operations(call->comment), part;

	while (text_span_part(&rest, ", ", &part)) {
		part = without(part, ATEN);
		if (text_span_equals(part, operation) ||
		    (is_product(part) && is_product(operation)))
			return true;
	}
	return false;
}

/* Joins the calls and nodes of one operation; calls come first. */
static void join(const struct wrapper_code *code, const struct member *members, uint32_t count,
		 struct kernel_order *orders)
{
	uint32_t nr_calls = 0;
	bool is_proven = true;

	while (nr_calls < count && !members[nr_calls].is_node)
		nr_calls++;
	if (nr_calls == 0 || count != 2 * nr_calls ||
	    members[nr_calls - 1].number == WRAPPER_BUFFER_NONE)
		return;
	for (uint32_t i = 0; i < nr_calls; i++) {
		if (i > 0 && members[i].number == members[i - 1].number)
			return;
		is_proven =
			is_proven && names(&code->calls[members[i].index], members[i].operation);
	}
	for (uint32_t i = 0; i < nr_calls; i++)
		orders[members[i].index] = (struct kernel_order){
			.node = members[nr_calls + i].index + 1, .is_proven = is_proven};
}

struct kernel_order *kernel_order_make(const struct wrapper_code *code,
				       const struct model_graph *graph)
{
	size_t room = (size_t)code->nr_calls + model_graph_count(graph) + 1;
	struct kernel_order *orders = calloc((size_t)code->nr_calls + 1, sizeof(*orders));
	struct member *members = calloc(room, sizeof(*members));

	if (!orders || !members) {
		free(orders);
		free(members);
		return NULL;
	}
	uint32_t count = collect(code, graph, members), first = 0;
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && compare_texts(members[i].operation, members[first].operation) == 0)
			continue;
		if (members[first].operation.size > 0)
			join(code, members + first, i - first, orders);
		first = i;
	}
	free(members);
	return orders;
}
