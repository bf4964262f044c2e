#include "event_stack.h"

#include <string.h>

#include "watched_collectives.h"

#include "bpf/collective_event.h"
#include "proto/host_sample.h"

/* host_call.bpf.c may show the caller twice. */
static void show_callers(struct event_stack *stack)
{
	struct address_list *list = &stack->list;

	if (list->nr_user < 2 || list->nr_user > SAMPLE_USER_DEPTH ||
	    list->user[1] != list->user[0] + 1)
		return;
	stack->callers[0] = list->user[0];
	memcpy(&stack->callers[1], &list->user[2], (list->nr_user - 2) * sizeof(list->user[0]));
	list->user = stack->callers;
	list->nr_user--;
}

void event_stack_init(struct event_stack *stack, const struct sample_event *event)
{
	const uint8_t *copy =
		(const uint8_t *)event->addresses + event->user_size + event->kernel_size;
	/* A collective's addresses begin with the call itself. */
	const uint32_t nr_words = watched_collectives_has(event) ? COLLECTIVE_CALL_WORDS : 0;
	const uint32_t nr_user =
		event->user_size / (uint32_t)sizeof(event->addresses[0]) - nr_words;

	stack->list = (struct address_list){
		.user = (const uint64_t *)event->addresses + nr_words,
		.kernel = (const uint64_t *)event->addresses + nr_words + nr_user,
		.nr_user = nr_user,
		.nr_kernel = event->kernel_size / (uint32_t)sizeof(event->addresses[0]),
		.code_pages = event->code_pages,
		.copy = {.pc = event->user_pc,
			 .sp = event->user_sp,
			 .fp = event->user_fp,
			 .bytes = copy,
			 .size = event->stack_size},
		.python = stack->python,
		.nr_python = event->python_size < sizeof(stack->python)
				     ? event->python_size / (uint32_t)sizeof(stack->python[0])
				     : SAMPLE_PYTHON_DEPTH,
		.python_cut = event->flags & SAMPLE_EVENT_PYTHON_CUT,
	};
	for (uint32_t i = 0; i < SAMPLE_PARTS; i++)
		stack->list.copy.parts[i] =
			(struct stack_copy_part){event->parts[i].sp, event->parts[i].offset};
	memcpy(stack->python, copy + event->stack_size,
	       stack->list.nr_python * sizeof(stack->python[0]));
	if (event->kind == HOST_SAMPLE_CALL || nr_words)
		show_callers(stack);
}
