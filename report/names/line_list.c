#include "line_list.h"

#include <string.h>

#define SEPARATOR ", "

bool line_list_has(const char *list, const char *item)
{
	size_t size = strlen(item);

	for (const char *at = list; (at = strstr(at, item)); at += size)
		if ((at == list || at[-1] == ' ') && (at[size] == '\0' || at[size] == ','))
			return true;
	return false;
}

/* Ends the item before its number, if it has one. */
static void drop_number(char *item)
{
	char *colon = strrchr(item, ':');

	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		*colon = '\0';
}

void line_list_drop_numbers(char *list)
{
	char *end = list; /* of what is kept; behind it only items that are not read yet */

	for (char *item = list, *next; item; item = next) {
		next = strstr(item, SEPARATOR);
		if (next) {
			*next = '\0';
			next += strlen(SEPARATOR);
		}
		drop_number(item);
		char kept = *end;
		*end = '\0';
		bool listed = end > list && line_list_has(list, item);
		*end = kept;
		if (listed || !*item)
			continue;
		if (end > list) {
			memcpy(end, SEPARATOR, strlen(SEPARATOR));
			end += strlen(SEPARATOR);
		}
		size_t size = strlen(item);
		memmove(end, item, size);
		end += size;
	}
	*end = '\0';
}
