#include "failing_memory.h"

#include <stdbool.h>
#include <stddef.h>

static uint32_t left;
static bool has_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void failing_memory_set(uint32_t number)
{
	left = number;
	has_failed = false;
}

bool failing_memory_failed(void)
{
	return has_failed;
}

static bool fails(void)
{
	if (left == 0 || --left > 0)
		return false;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}
