/* Divides the processes of a profile into shares, so that those that use one device are in one share. Pure; any
 * thread. */
#ifndef PROCESS_SHARES_H
#define PROCESS_SHARES_H

#include <stdint.h>

struct roster;

/* The most shares. What is kept by share (cell_format.h) depends on it and on the roster alone. */
#define PROCESS_SHARES_MOST 8u

struct process_shares {
	uint8_t *of; /* owns; [id - 1]: below nr */
	uint32_t
		nr; /* PROCESS_SHARES_MOST, or fewer if there are fewer processes; 1 if no division works; never 0 */
};

/* 0 or -ENOMEM. Call process_shares_fini() in either case. */
int process_shares_init(struct process_shares *shares, const struct roster *roster);
void process_shares_fini(struct process_shares *shares);

#endif
