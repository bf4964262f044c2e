/* The prepared statements that write one group of the store's tables, and short names to run them. For the store's
 * source files alone. Single-threaded. */
#ifndef STATEMENT_SET_H
#define STATEMENT_SET_H

#include "database.h"

/* Embedded; zeroed memory is empty. */
struct statement_set {
	struct statement **statements; /* owns */
	uint32_t nr_statements;
};

/* Prepares all commands, which are SQL; NULL ends them. It borrows the database until fini, which must also follow an
 * error. 0, or an error of database.h. */
int statement_set_init(struct statement_set *set, struct database *database,
		       const char *const *commands);
void statement_set_fini(struct statement_set *set);

/* Runs the command with this index, with the database_values that follow. 0, or an error of database.h. */
#define RUN(set, command, ...)                                                                     \
	statement_run((set)->statements[command], (struct database_value[]){__VA_ARGS__},          \
		      sizeof((struct database_value[]){__VA_ARGS__}) /                             \
			      sizeof(struct database_value))
#define NUMBER(number) database_number(number)
#define AMOUNT(number) database_amount(number)

#endif
