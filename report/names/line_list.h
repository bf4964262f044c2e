/* Lists of lines for readers: "model.py:forward:12, model.py:loss:30". Pure; any thread. */
#ifndef LINE_LIST_H
#define LINE_LIST_H

#include <stdbool.h>

/* Returns whether an item, not empty, is in the list. */
bool line_list_has(const char *list, const char *item);

/* Takes the numbers off all items, and then those items out that another equals. Changes the list in its place. */
void line_list_drop_numbers(char *list);

#endif
