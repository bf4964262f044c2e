#include "autograd_node.h"

#include <stdatomic.h>
#include <string.h>

#include "unwind/process_memory.h"

/* Offsets in the object, of both ways to count references. */
#define SHARED_NUMBER    24u
#define SHARED_THREAD    48u
#define INTRUSIVE_NUMBER 16u
#define INTRUSIVE_THREAD 40u
#define INTRUSIVE_COUNT  8u /* the lower half of a word */
#define CONTROL_COUNT    8u /* libstdc++'s _Sp_counted_base::_M_use_count */
#define NODE_WORDS       (SHARED_THREAD / 8 + 1)

/* Before the table of functions stands the address of the class's typeinfo, whose second word is its name. */
#define TYPEINFO_BEFORE 8u
#define TYPEINFO_NAME   8u

/* No process makes as many operations or threads. */
#define NUMBER_MAX (1ull << 48)
#define THREAD_MAX (1ull << 24)

bool autograd_node_read(const struct autograd_reference *reference, bool checked,
			struct autograd_node *node)
{
	uint64_t words[NODE_WORDS];
	bool shared = reference->control != 0;

	if (checked) {
		if (process_memory_read(reference->node, words, sizeof(words)) < sizeof(words))
			return false;
	} else {
		memcpy(words, (const void *)(uintptr_t)reference->node, sizeof(words));
	}
	*node = (struct autograd_node){
		.type = words[0],
		.number = words[(shared ? SHARED_NUMBER : INTRUSIVE_NUMBER) / 8],
		.thread_id = words[(shared ? SHARED_THREAD : INTRUSIVE_THREAD) / 8],
	};
	return (node->number < NUMBER_MAX || node->number == AUTOGRAD_NODE_NO_NUMBER) &&
	       node->thread_id < THREAD_MAX;
}

static uint64_t count_address(const struct autograd_reference *reference)
{
	return reference->control ? reference->control + CONTROL_COUNT
				  : reference->node + INTRUSIVE_COUNT;
}

bool autograd_node_count(const struct autograd_reference *reference, uint32_t *count)
{
	return process_memory_read(count_address(reference), count, sizeof(*count)) ==
	       sizeof(*count);
}

void autograd_node_release(const struct autograd_reference *reference)
{
	_Atomic uint32_t *count = (_Atomic uint32_t *)(uintptr_t)count_address(reference);

	atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel);
}

/* Reads a number of at most four digits. Returns how many there are. */
static size_t read_length(const char *text, size_t size, size_t *length)
{
	size_t digits = 0;

	*length = 0;
	while (digits < size && digits < 4 && text[digits] >= '0' && text[digits] <= '9')
		*length = *length * 10 + (size_t)(text[digits++] - '0');
	return digits;
}

size_t autograd_node_class(const char *text, size_t size, char name[static AUTOGRAD_NODE_NAME_MAX])
{
	size_t at = 0, found = 0, length;

	/* '*': the name is this class's alone; N: within namespaces; St: within std */
	while (at < size && (text[at] == '*' || text[at] == 'N'))
		at++;
	if (size - at >= 2 && memcmp(text + at, "St", 2) == 0)
		at += 2;
	for (;;) {
		size_t digits = read_length(text + at, size - at, &length);

		at += digits;
		if (digits == 0 || length == 0 || length > size - at)
			return found;
		found = length < AUTOGRAD_NODE_NAME_MAX ? length : AUTOGRAD_NODE_NAME_MAX - 1;
		memcpy(name, text + at, found);
		at += length;
	}
}

size_t autograd_node_name(uint64_t type, char name[static AUTOGRAD_NODE_NAME_MAX])
{
	char text[2 * AUTOGRAD_NODE_NAME_MAX];
	uint64_t typeinfo, start;

	if (process_memory_read(type - TYPEINFO_BEFORE, &typeinfo, sizeof(typeinfo)) <
		    sizeof(typeinfo) ||
	    process_memory_read(typeinfo + TYPEINFO_NAME, &start, sizeof(start)) < sizeof(start))
		return 0;
	size_t size = process_memory_read(start, text, sizeof(text));
	return autograd_node_class(text, strnlen(text, size), name);
}
