/* Makes the memory of a table arena (table_arena.h). Any thread. */
#ifndef TABLE_MEMORY_H
#define TABLE_MEMORY_H

/* Returns a descriptor, close-on-exec, of memory of the arena's size, which nobody can shrink. It takes no room until
 * it is written. The caller owns it. -errno: there is none. */
int table_memory_create(void);

#endif
