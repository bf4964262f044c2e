#include "module_call.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void run_call(struct foreign_call *base)
{
	struct module_call *call = (struct module_call *)base;

	if (call->opens)
		symbol_module_open(call->module, &call->place);
	else
		call->name = symbol_module_find(call->module, &call->request, call->text,
						sizeof(call->text), &call->is_in_text);
}

static void call_returned(struct foreign_call *base)
{
	((struct module_call *)base)->has_returned = true;
}

struct module_call *module_call_take(struct module_call **spare)
{
	struct module_call *call = *spare;

	*spare = NULL;
	if (!call)
		call = malloc(sizeof(*call));
	if (call) {
		memset(call, 0, offsetof(struct module_call, text));
		call->has_returned = false;
		call->call.run = run_call;
		call->call.returned = call_returned;
	}
	return call;
}

void module_call_give(struct module_call **spare, struct module_call *call)
{
	free(call->path);
	call->path = NULL;
	if (*spare)
		free(call);
	else
		*spare = call;
}

void module_call_destroy(struct module_call *call)
{
	if (call)
		free(call->path);
	free(call);
}
