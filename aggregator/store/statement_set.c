#include "statement_set.h"

#include <errno.h>
#include <stdlib.h>

int statement_set_init(struct statement_set *set, struct database *database,
		       const char *const *commands)
{
	uint32_t count = 0;
	int error = 0;

	while (commands[count])
		count++;
	*set = (struct statement_set){calloc(count, sizeof(*set->statements)), count};
	if (!set->statements)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !error; i++)
		error = statement_create(database, commands[i], &set->statements[i]);
	return error;
}

void statement_set_fini(struct statement_set *set)
{
	for (uint32_t i = 0; set->statements && i < set->nr_statements; i++)
		statement_destroy(set->statements[i]);
	free(set->statements);
}
