/* What runs that were killed have left behind, and the next one removes: only what provably belongs to nobody any
 * more, of this user. The proof is a lock that its owner holds for life and the kernel takes away with it.
 * Single-threaded. */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include <stdbool.h>

/* Directories of sockets (step_dir.h, private_dir.h) where this user's are made, with the register of guests that an
 * agent kept there (guest_register.h). File systems that other hosts may share are left alone, since locks need not
 * hold between hosts there. */
void leftovers_remove_sockets(void);

/* Rendezvous files in the directory that output_path is in. Files whose aggregator still answers, or whose lock
 * cannot be had, are left. That may take a second for each whose host is gone: it ends before the next file once
 * there is news from stop. */
void leftovers_remove_rendezvous(const char *output_path, int stop);

/* Whether the aggregator that a rendezvous file tells of may still be there. */
bool leftovers_rendezvous_lives(const char *path);

#endif
