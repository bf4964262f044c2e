#include "block_marks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void block_marks_fini(struct block_marks *marks)
{
	hash_index_fini(&marks->index);
	free(marks->names);
	*marks = (struct block_marks){0};
}

static bool is_name(const void *context, uint32_t id, const void *name)
{
	const struct block_marks *marks = context;

	return marks->names[id - 1] == *(const uint64_t *)name;
}

bool block_marks_have(const struct block_marks *marks, uint64_t name)
{
	return hash_index_find(&marks->index, hash_index_hash_word(name), is_name, marks, &name);
}

int block_marks_add(struct block_marks *marks, uint64_t name)
{
	if (array_reserve(&marks->names, &marks->room, marks->nr_names + 1ull,
			  sizeof(*marks->names)) ||
	    hash_index_insert(&marks->index, hash_index_hash_word(name), marks->nr_names + 1))
		return -ENOMEM;
	marks->names[marks->nr_names++] = name;
	return 0;
}
